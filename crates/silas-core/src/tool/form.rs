//! Whether arguments fit the schema of a tool: the part of JSON Schema that tools use, and nothing that could be read two
//! ways. A keyword that is not known here makes nothing fit.

use serde_json::Value;

/// Deeper than the arguments of any tool.
const DEPTH_MAX: usize = 16;
const KNOWN: [&str; 14] = [
    "type",
    "description",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "maxItems",
    "anyOf",
    "title",
];

/// What is wrong, in words that a model can use; `None` if all is well.
pub fn misfit(value: &Value, schema: &Value) -> Option<String> {
    at(value, schema, "arguments", 0)
}

fn at(value: &Value, schema: &Value, path: &str, depth: usize) -> Option<String> {
    let Some(rules) = schema.as_object().filter(|_| depth < DEPTH_MAX) else {
        return Some(format!("`{path}` cannot be checked"));
    };
    if let Some(unknown) = rules.keys().find(|key| !KNOWN.contains(&key.as_str())) {
        return Some(format!("`{path}` has a rule that is not known here: {unknown}"));
    }
    if let Some(any) = rules.get("anyOf").and_then(Value::as_array) {
        let fits = any.iter().any(|schema| at(value, schema, path, depth + 1).is_none());
        return if fits { None } else { Some(format!("`{path}` fits none of the allowed forms")) };
    }
    let types: Vec<&str> = match rules.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !types.iter().any(|name| is(value, name)) {
        return Some(format!("`{path}` must be {}", types.join(" or ")));
    }
    if let Some(allowed) = rules.get("enum").and_then(Value::as_array)
        && !allowed.contains(value)
    {
        let names: Vec<String> = allowed.iter().map(ToString::to_string).collect();
        return Some(format!("`{path}` must be one of {}", names.join(", ")));
    }
    let limit = |name: &str| rules.get(name).and_then(Value::as_i64);
    match value {
        Value::String(text) => {
            let n = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
            if limit("minLength").is_some_and(|min| n < min) {
                return Some(format!("`{path}` is too short"));
            }
            limit("maxLength").filter(|max| n > *max).map(|max| format!("`{path}` has more than {max} characters"))
        }
        Value::Number(number) => {
            let is_within = number.as_i64().is_some_and(|n| {
                limit("minimum").is_none_or(|min| n >= min) && limit("maximum").is_none_or(|max| n <= max)
            });
            if is_within { None } else { Some(format!("`{path}` is out of range")) }
        }
        Value::Array(items) => {
            let n = i64::try_from(items.len()).unwrap_or(i64::MAX);
            if let Some(max) = limit("maxItems").filter(|max| n > *max) {
                return Some(format!("`{path}` has more than {max} entries"));
            }
            let schema = rules.get("items")?;
            items.iter().enumerate().find_map(|(n, item)| at(item, schema, &format!("{path}[{n}]"), depth + 1))
        }
        Value::Object(fields) => {
            let properties = rules.get("properties").and_then(Value::as_object)?;
            let required = rules.get("required").and_then(Value::as_array).into_iter().flatten();
            // What may be null may also be left out, which is how many models say it.
            let may_be_null = |name: &str| {
                properties.get(name).is_some_and(|schema| at(&Value::Null, schema, path, depth + 1).is_none())
            };
            let missing =
                required.filter_map(Value::as_str).find(|name| !fields.contains_key(*name) && !may_be_null(name));
            if let Some(name) = missing {
                return Some(format!("`{name}` is missing in `{path}`"));
            }
            fields.iter().find_map(|(name, value)| match properties.get(name) {
                Some(schema) => at(value, schema, &format!("{path}.{name}"), depth + 1),
                None => Some(format!("`{path}` has no `{name}`")),
            })
        }
        Value::Null | Value::Bool(_) => None,
    }
}

fn is(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        _ => false,
    }
}
