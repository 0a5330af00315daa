//! The API documents of `docs/` are what the handlers and their types say.

use purser::http::openapi::generation;

use crate::generated;

#[test]
fn api_documents_are_generated_from_the_handlers() {
    for file in generation::files().unwrap() {
        generated::assert_file(file.path, &file.text);
    }
}

// Checks: the committed document equals the one generated from the definitions of the providers.
#[test]
fn providers_document_is_generated_from_the_definitions() {
    let document = purser::provider::document::document().unwrap();
    generated::assert_file("docs/providers.openapi.json", &format!("{document:#}\n"));
}
