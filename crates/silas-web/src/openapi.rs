//! What the doors speak, for programs: an OpenAPI document made from the Rust types themselves.
//!
//! `docs/openapi.json` is this, written to disk, and `docs/protocol.md` is made from it; a test compares them. The page
//! `/api.html` renders it without asking anybody else.

use crate::health::Health;
use crate::protocol::{
    ClientMessage, Credentials, PairRequest, Paired, PairingScreen, ReadProof, Refused, SecretGiven, SecretValue,
    ServerMessage, SessionProof, WorkPage, WriteProof,
};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use schemars::generate::{Contract, SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};
use silas_runtime::view::{ActivityView, CardsPage};
use std::sync::LazyLock;

/// Anybody may ask for it, so it is made once.
static DOCUMENT: LazyLock<String> = LazyLock::new(|| document().to_string());

pub(crate) async fn serve() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], DOCUMENT.as_str()).into_response()
}

/// The whole document.
///
/// Long: a table of paths, in the order in which it is printed.
pub fn document() -> Value {
    let mut said = Schemas::new(Contract::Serialize);
    let mut heard = Schemas::new(Contract::Deserialize);
    let signed = json!([{ "device": [] }]);
    let paths = json!({
        "/health": { "get": {
            "summary": "Whether Silas answers, how many WebSockets are open, and how full what somebody may have to wait for is",
            "description": "For anybody, without numbers of what happens. Always 200 while Silas answers; `/metrics` has the numbers.",
            "responses": said.ok::<Health>("It does"),
        } },
        "/metrics": { "get": {
            "summary": "Numbers for operators, in the text format of Prometheus",
            "security": [{ "device": [] }, { "access_token": [] }],
            "responses": { "200": { "description": "The numbers", "content": { "text/plain": {} } }, "401": refused() },
        } },
        "/api/review": { "get": {
            "summary": "Cards that wait for the owner, the active one first",
            "security": signed,
            "parameters": [{ "name": "from", "in": "query", "required": false, "schema": { "type": "integer", "minimum": 0 },
                "description": "The first card that is wanted, counted from 0" }],
            "responses": said.guarded::<CardsPage>("A page of cards"),
        } },
        "/api/activity": { "get": {
            "summary": "What happened, told from the ledger, newest first",
            "security": signed,
            "responses": said.guarded::<ActivityView>("The rows"),
        } },
        "/api/work": { "get": {
            "summary": "Running and recent work",
            "security": signed,
            "responses": said.guarded::<WorkPage>("The work"),
        } },
        "/secrets/{ref_id}": { "post": {
            "summary": "Puts a secret that a card asks for into the vault; nothing of it comes back",
            "description": "Only while a card of the kind `secure_input` with this `ref_id` waits, and once. The signature covers the \
                `WriteProof` with the digest of this body.",
            "security": signed,
            "parameters": [{ "name": "ref_id", "in": "path", "required": true, "schema": { "type": "string" },
                "description": "What the card's `input` names" }],
            "requestBody": { "required": true, "content": { "application/json": { "schema": heard.reference::<SecretValue<'_>>() } } },
            "responses": {
                "200": content("The vault has it, by its own record", said.reference::<SecretGiven>()),
                "400": refused(), "401": refused(), "429": refused(),
                "404": content("Nobody asks for it", json!({ "$ref": "#/components/schemas/Refused" })),
                "409": content("It was given already", json!({ "$ref": "#/components/schemas/Refused" })),
                "410": content("The time to answer is over", json!({ "$ref": "#/components/schemas/Refused" })),
                "413": content("It is too long", json!({ "$ref": "#/components/schemas/Refused" })),
                "423": content("The vault is locked", json!({ "$ref": "#/components/schemas/Refused" })),
                "507": content("The vault is full", json!({ "$ref": "#/components/schemas/Refused" })),
            },
        } },
        "/pair": {
            "get": {
                "summary": "What the pairing screen shows and what its tap signs",
                "responses": said.ok::<PairingScreen>("The screen"),
            },
            "post": {
                "summary": "Makes a browser one of the owner's devices; needs the one-use code",
                "requestBody": { "required": true, "content": { "application/json": { "schema": heard.reference::<PairRequest>() } } },
                "responses": { "200": content("Paired", said.reference::<Paired>()), "403": refused() },
            },
        },
        "/ws": { "get": {
            "summary": "The WebSocket: a challenge, an answer signed by a paired device, then messages both ways",
            "description": "Frames are JSON texts. From the page: `ClientMessage`. To the page: `ServerMessage`. A connection that does \
                not authenticate within 5 seconds is closed with 4001; a server that goes away closes with 1001.",
            "responses": { "101": { "description": "Switching protocols" }, "403": { "description": "The Origin is not ours" },
                "421": { "description": "The Host is not ours" }, "503": { "description": "All places are taken" } },
        } },
    });
    heard.reference::<ClientMessage>();
    heard.reference::<Credentials>();
    said.reference::<ServerMessage>();
    said.reference::<SessionProof<'_>>();
    said.reference::<ReadProof<'_>>();
    said.reference::<WriteProof<'_>>();
    said.reference::<Refused>();
    json!({
        "openapi": "3.1.0",
        "info": { "title": "Silas", "version": env!("CARGO_PKG_VERSION"),
            "description": "Made from the Rust types of the doors. Ids, digests, keys, signatures and times are strings." },
        "paths": paths,
        "components": {
            "schemas": together(said.definitions(), heard.definitions()),
            "securitySchemes": {
                "device": { "type": "apiKey", "in": "header", "name": "Authorization",
                    "description": "`Silas ` and the `Credentials`, as JSON in base64url. The signature covers the `ReadProof`, or the `WriteProof` of what is handed in." },
                "access_token": { "type": "http", "scheme": "bearer",
                    "description": "`channels.web.auth_token` of the configuration." },
            },
        },
    })
}

fn content(description: &str, schema: Value) -> Value {
    json!({ "description": description, "content": { "application/json": { "schema": schema } } })
}

fn refused() -> Value {
    content("Not answered", json!({ "$ref": "#/components/schemas/Refused" }))
}

/// Types that only come in may leave out what has a default; types that go out say everything. A type that does both and
/// differs gets a name of its own for the way in.
fn together(said: Map<String, Value>, heard: Map<String, Value>) -> Map<String, Value> {
    let differing: Vec<String> = heard
        .iter()
        .filter(|(name, schema)| said.get(*name).is_some_and(|s| s != *schema))
        .map(|(n, _)| n.clone())
        .collect();
    let mut all = said;
    for (name, schema) in heard {
        let name = if differing.contains(&name) { format!("{name}In") } else { name };
        all.insert(name, renamed(schema, &differing));
    }
    all
}

fn renamed(value: Value, differing: &[String]) -> Value {
    match value {
        Value::Object(fields) => fields.into_iter().map(|(key, value)| (key, renamed(value, differing))).collect(),
        Value::Array(values) => values.into_iter().map(|value| renamed(value, differing)).collect(),
        Value::String(text) => {
            let name = text.strip_prefix("#/components/schemas/");
            let differs = name.is_some_and(|name| differing.iter().any(|other| other == name));
            Value::String(if differs { format!("{text}In") } else { text })
        }
        other => other,
    }
}

struct Schemas(SchemaGenerator);

impl Schemas {
    fn new(contract: Contract) -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.contract = contract;
        });
        Schemas(settings.into_generator())
    }

    fn reference<T: JsonSchema>(&mut self) -> Value {
        Schema::to_value(self.0.subschema_for::<T>())
    }

    fn ok<T: JsonSchema>(&mut self, description: &str) -> Value {
        json!({ "200": content(description, self.reference::<T>()) })
    }

    fn guarded<T: JsonSchema>(&mut self, description: &str) -> Value {
        json!({ "200": content(description, self.reference::<T>()), "401": refused(), "429": refused() })
    }

    fn definitions(&mut self) -> Map<String, Value> {
        self.0.take_definitions(true)
    }
}
