//! MPP's header fields: which credential, and a challenge as a client reads it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use purser::payment::mpp::params::{MAX_FIELD_BYTES, challenges};
use purser::payment::{PaymentHeaderError, mpp_credential, payment_header};
use purser::wallet::MppOffer;
use serde_json::{Value, json};

use crate::rules::mpp::{CARD, NOW_MS, issue, server};
use crate::seller::{PRICE, offers};

#[test]
fn case_15_one_request_carries_one_credential() {
    // Checks: the scheme in any case, one credential or the same one twice, and another scheme beside it are accepted.
    // Two different credentials are a 400.
    let found = |values: &[&'static str]| {
        let mut headers = http::HeaderMap::new();
        for value in values {
            headers.append("authorization", http::HeaderValue::from_static(value));
        }
        assert_eq!(payment_header(&headers), Ok(None));
        mpp_credential(&headers).map(|found| found.map(<[u8]>::to_vec))
    };
    assert_eq!(found(&[]), Ok(None));
    assert_eq!(found(&["Bearer Payment c"]), Ok(None));
    assert_eq!(found(&["Payments c"]), Ok(None));
    assert_eq!(found(&["payment  c "]), Ok(Some(b"c".to_vec())));
    assert_eq!(found(&["Payment c", "PAYMENT c", "Bearer t"]), Ok(Some(b"c".to_vec())));
    assert!(matches!(
        found(&["Payment c", "Payment d"]),
        Err(PaymentHeaderError::Ambiguous(_))
    ));
}

#[test]
fn challenge_round_trips() {
    // Checks: quotes and backslashes in a description stay data, and a non-ASCII description is omitted. Foreign
    // schemes and spacing are parsed, and ambiguous headers are rejected.
    let mpp = server();
    let described = |description: &str| {
        let issued = mpp.issue(&offers(), &CARD, description, NOW_MS).unwrap();
        let field = String::from_utf8(issued.header.to_vec()).unwrap();
        let mut all = challenges(&field).unwrap();
        assert_eq!((all.len(), all[0].scheme.as_str()), (1, "Payment"));
        assert_eq!(all[0].params["id"], issued.id);
        all.remove(0).params.remove("description")
    };
    assert_eq!(described("A \"card\", \\5"), Some("A \"card\", \\5".to_owned()));
    assert_eq!(described("Café"), None);
    assert_eq!(described("line\r\nx-injected: 1"), None);
    assert_eq!(described(""), None);

    let several = challenges("Bearer , Payment ID = \"a\" ,method=evm, Payment id=\"b\"").unwrap();
    let ids: Vec<_> = several.iter().map(|one| one.params.get("id").cloned()).collect();
    assert_eq!(ids, [None, Some("a".to_owned()), Some("b".to_owned())]);
    assert_eq!(several[1].params["method"], "evm");
    let long = format!("Payment id=\"{}\"", "a".repeat(MAX_FIELD_BYTES));
    for field in [
        "",
        ",",
        "id=\"a\"",
        "Payment id=\"a\", ID=\"b\"",
        "Payment id=\"a",
        "Payment id=\"a\\",
        "Payment id=",
        "Payment id=\"a\"method=evm",
        "Payment: x",
        "Payment id=\"a\nb\"",
        &long,
    ] {
        assert_eq!(challenges(field), None, "{field:.40}");
    }
}

#[test]
fn a_wallet_pays_only_what_it_understands() {
    // Checks: offers without USDC on Base, on another chain, with permit2 only, with splits, or in another header are
    // skipped.
    let issued = issue(&server());
    let field = std::str::from_utf8(&issued.header).unwrap();
    let params = challenges(field).unwrap().remove(0).params;
    let request: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(&params["request"]).unwrap()).unwrap();
    let asked = |change: &dyn Fn(&mut Value)| {
        let mut changed = request.clone();
        change(&mut changed);
        field.replace(&params["request"], &URL_SAFE_NO_PAD.encode(changed.to_string()))
    };
    assert_eq!(MppOffer::from_header(&asked(&|_| ())).unwrap().amount.atomic(), PRICE);
    for bad in [
        asked(&|r| r["currency"] = json!("0x00000000000000000000000000000000000000aa")),
        asked(&|r| r["methodDetails"]["chainId"] = json!(1)),
        asked(&|r| r["methodDetails"]["credentialTypes"] = json!(["permit2"])),
        asked(&|r| r["methodDetails"]["splits"] = json!([])),
        asked(&|r| r["amount"] = json!("5.0")),
        field.replace("method=\"evm\"", "method=\"tempo\""),
        field.replace("intent=\"charge\"", "intent=\"session\""),
        format!("{field}, header=\"Payment-Authorization\""),
        field.replace("Payment id", "Bearer id"),
        field.replace("expires=", "until="),
    ] {
        assert!(MppOffer::from_header(&bad).is_err(), "{bad}");
    }
}
