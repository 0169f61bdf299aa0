//! JSON schemas from Rust types, in the dialect that providers hold answers to: no unknown fields, every field named as
//! required, no references.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// What providers do not know, or what only costs tokens: what a field is for, the prompt says.
const LEFT_OUT: [&str; 6] = ["$schema", "title", "description", "format", "default", "minimum"];

pub(crate) fn of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    strict(&mut schema);
    schema
}

fn strict(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            for name in LEFT_OUT {
                // A property may be called like a keyword; only keywords are strings or numbers.
                if fields.get(name).is_some_and(|value| !value.is_object()) {
                    fields.remove(name);
                }
            }
            require_all(fields);
            fields.values_mut().for_each(strict);
        }
        Value::Array(items) => items.iter_mut().for_each(strict),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn require_all(fields: &mut Map<String, Value>) {
    let Some(Value::Object(properties)) = fields.get("properties") else { return };
    let names: Vec<Value> = properties.keys().cloned().map(Value::String).collect();
    fields.insert("required".to_owned(), Value::Array(names));
    fields.insert("additionalProperties".to_owned(), Value::Bool(false));
}
