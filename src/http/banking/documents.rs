//! `uploadBankingDocument`.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use purser_actors::engine::OperationError;
use purser_actors::entity::banking::application::{Document, DocumentType, MediaType};
use purser_actors::id::DocumentId;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::super::account::BearerClaims;
use super::super::error::{ApiError, ErrorCode};
use super::super::idempotency::{IdempotencyKey, recorder};
use super::SharedState;
#[cfg(feature = "documents")]
use super::application::BankingApplicationResult;
use super::application::{after, record};

/// In bytes, after decoding.
const MAX_DOCUMENT_BYTES: usize = 10 * 1024 * 1024;
/// Largest request body: a document in base64 and the rest of the request.
pub(super) const MAX_UPLOAD_BYTES: usize = MAX_DOCUMENT_BYTES / 3 * 4 + 64 * 1024;

/// Request of `uploadBankingDocument`.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct UploadDocumentRequest {
    /// `proof_of_address`, `formation_document` or `other`.
    r#type: DocumentTypeParam,
    /// PDF, PNG or JPEG in base64, at most 10 MB. The type is detected from the first bytes.
    content: String,
}

#[derive(Clone, Copy, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "documents", schema(as = DocumentTypeName))]
enum DocumentTypeParam {
    ProofOfAddress,
    FormationDocument,
    Other,
}

impl DocumentTypeParam {
    const fn document_type(self) -> DocumentType {
        match self {
            Self::ProofOfAddress => DocumentType::ProofOfAddress,
            Self::FormationDocument => DocumentType::Formation,
            Self::Other => DocumentType::Other,
        }
    }
}

/// Covered by the idempotency fingerprint.
#[derive(Serialize)]
struct UploadDocumentParams {
    document_type: &'static str,
    sha256: String,
}

/// Add a document to the application
///
/// The document is encrypted with its own key. A second document of the same type replaces the earlier one, whose key
/// is destroyed. Documents of type `other` are all kept.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/uploadBankingDocument", operation_id = "uploadBankingDocument", tag = "Banking", security(("bearer" = [])), request_body = inline(UploadDocumentRequest),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same data is answered as the first time, for 24 hours.")),
    responses((status = 200, description = "`application` with it.", body = BankingApplicationResult),
        (status = 400, description = "A member is missing, unknown or malformed."), (status = 401, description = "No good token."),
        (status = 403, description = "Another account's `userId`, frozen, or a token issued for a payment."), (status = 404, description = "No profile yet."),
        (status = 409, description = "The application is with the bank or approved, has too many, or the first call with this key is still running."),
        (status = 413, description = "More than 10 MB."), (status = 415, description = "Neither PDF, PNG nor JPEG."),
        (status = 422, description = "The key was used for something else."), (status = 503, description = "Not now."))))]
pub(super) async fn upload_banking_document(
    State(app): SharedState,
    BearerClaims(claims): BearerClaims,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    let permit = app.uploads.acquire(claims.wallet)?;
    let call = app
        .read_call_up_to::<UploadDocumentRequest>(body, MAX_UPLOAD_BYTES)
        .await?;
    let (document_type, bytes) = (call.data.r#type.document_type(), decoded(&call.data.content)?);
    let media = detect_media_type(&bytes)?;
    app.admit(&claims, &call).await?;
    let sha256: [u8; 32] = Sha256::digest(&bytes).into();
    let document = Document {
        id: DocumentId::mint(claims.wallet.shard(), app.entropy.random()),
        document_type,
        media,
        bytes: bytes.len() as u64,
        sha256,
        at: app.clock.now(),
    };
    let request = UploadDocumentParams {
        document_type: document_type.name(),
        sha256: hex::encode(sha256),
    };
    let (state, owner) = (app.clone(), claims.wallet);
    let route = "/uploadBankingDocument";
    key.run(&app.engine, &claims, route, &request, move |place| async move {
        state.banking_application(&owner).await?;
        let verified = state.is_verified(&owner).await?;
        let (engine, documents) = (&state.engine, &state.documents);
        // Store the bytes first: an application never names a document that is not stored.
        let sealed = documents.persist(document.id, bytes).await.map_err(|error| {
            tracing::error!(%error, "a document could not be kept");
            ApiError::unavailable(
                ErrorCode::ServiceUnavailable,
                "The document could not be kept. Try again.",
                5,
            )
        })?;
        let recorder = place.map(|place| recorder(place, move |result| record(&owner, result, verified)));
        let result = engine.add_banking_document(owner, document, sealed, recorder).await;
        match &result {
            Ok(Some(replaced)) => documents.delete(*replaced).await,
            Err(OperationError::Rejected(_)) => documents.delete(document.id).await,
            // If the application may name the document, its bytes stay.
            Ok(None) | Err(_) => {}
        }
        drop(permit);
        after(engine, &owner, result.map(drop), verified).await
    })
    .await
}

fn decoded(content: &str) -> Result<Vec<u8>, ApiError> {
    let bytes = STANDARD
        .decode(content)
        .map_err(|_| ApiError::parameter(ErrorCode::ParameterInvalid, "content", "`content` is not base64."))?;
    if bytes.len() > MAX_DOCUMENT_BYTES {
        let error = "A document has at most 10 MB.";
        return Err(ApiError::new(ErrorCode::BodyTooLarge, error).param("content"));
    }
    Ok(bytes)
}

/// Detects the type of a file from its first bytes.
fn detect_media_type(bytes: &[u8]) -> Result<MediaType, ApiError> {
    let media = match bytes {
        [b'%', b'P', b'D', b'F', b'-', ..] => Some(MediaType::Pdf),
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(MediaType::Png),
        [0xff, 0xd8, 0xff, ..] => Some(MediaType::Jpeg),
        _ => None,
    };
    media.ok_or_else(|| {
        let error = "The document is neither a PDF nor a PNG nor a JPEG by its first bytes.";
        ApiError::new(ErrorCode::DocumentTypeNotSupported, error).param("content")
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    // Checks: the first bytes decide the type; HTML, archives, partial signatures and empty files are rejected.
    #[test]
    fn document_type_is_detected_from_first_bytes() {
        for (bytes, media) in [
            (&b"%PDF-1.7 x"[..], MediaType::Pdf),
            (b"\x89PNG\r\n\x1a\nIHDR", MediaType::Png),
            (b"\xff\xd8\xff\xe0JFIF", MediaType::Jpeg),
        ] {
            assert_eq!(detect_media_type(bytes).unwrap(), media);
        }
        for bytes in [&b""[..], b"%PDF", b"<html>", b"PK\x03\x04", b"\x89PNG\r\n", b"\xff\xd8"] {
            assert_eq!(
                detect_media_type(bytes).unwrap_err().code,
                ErrorCode::DocumentTypeNotSupported
            );
        }
    }
}
