//! The files of the web apps, written by `npm run build` in `src/web`.

use super::{File, Page};

pub(super) static DESK: Page = Page {
    html: include_str!("desk.html"),
    digest: "c24501ed70d5195e1bf4dd76cb315533",
};

pub(super) static HOLDER: Page = Page {
    html: include_str!("holder.html"),
    digest: "8e14a46b285af5c8da90852449cdf0f0",
};

pub(super) static LINK_USED: Page = Page {
    html: include_str!("link-used.html"),
    digest: "8ccd9c8abc9caa81106aa651ca99bb71",
};

pub(super) static LOGIN: Page = Page {
    html: include_str!("login.html"),
    digest: "0d11cd2c1638a9b9f28319975eb2857d",
};

pub(super) static SIGNED_IN: Page = Page {
    html: include_str!("signed-in.html"),
    digest: "8b2ff1555715c64f823f24fb1d9ddc8e",
};

/// Sorted by name.
pub(super) static FILES: &[File] = &[
    File {
        name: "LICENSE-mono.txt",
        content_type: "text/plain; charset=utf-8",
        digest: "cc815ed4fc045f0e991abb10395b7932",
        bytes: include_bytes!("LICENSE-mono.txt"),
        gzip: None,
    },
    File {
        name: "LICENSE-sans.txt",
        content_type: "text/plain; charset=utf-8",
        digest: "f45f60ca871850c58d8dc9c973bd6fca",
        bytes: include_bytes!("LICENSE-sans.txt"),
        gzip: None,
    },
    File {
        name: "agents-HYHZNA7J.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "e98c604c45b525c80ccce91531b4eddd",
        bytes: include_bytes!("agents-HYHZNA7J.js"),
        gzip: Some(include_bytes!("agents-HYHZNA7J.js.gz")),
    },
    File {
        name: "approval-dialog-QVSRY4XA.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "d4b297b86420949b1e040cf0286ac4fe",
        bytes: include_bytes!("approval-dialog-QVSRY4XA.js"),
        gzip: Some(include_bytes!("approval-dialog-QVSRY4XA.js.gz")),
    },
    File {
        name: "card-XKAVILIP.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "ed18f7d916d729d0077a07fb615facad",
        bytes: include_bytes!("card-XKAVILIP.js"),
        gzip: Some(include_bytes!("card-XKAVILIP.js.gz")),
    },
    File {
        name: "cards-MJSOF4AN.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "7c62c979b586b52a61f65557948daead",
        bytes: include_bytes!("cards-MJSOF4AN.js"),
        gzip: Some(include_bytes!("cards-MJSOF4AN.js.gz")),
    },
    File {
        name: "chunk-3QZ3RRBH.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "7787c37e32904cb5c524f30f9a916146",
        bytes: include_bytes!("chunk-3QZ3RRBH.js"),
        gzip: Some(include_bytes!("chunk-3QZ3RRBH.js.gz")),
    },
    File {
        name: "chunk-HWJXNRAW.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "38349a57e1dbed098ed33ce0aa087de3",
        bytes: include_bytes!("chunk-HWJXNRAW.js"),
        gzip: Some(include_bytes!("chunk-HWJXNRAW.js.gz")),
    },
    File {
        name: "chunk-INTFOLL3.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "e3b0c44298fc1c149afbf4c8996fb924",
        bytes: include_bytes!("chunk-INTFOLL3.js"),
        gzip: Some(include_bytes!("chunk-INTFOLL3.js.gz")),
    },
    File {
        name: "chunk-KEXCF7AB.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "5269c6b501196ce0236156718e62a058",
        bytes: include_bytes!("chunk-KEXCF7AB.js"),
        gzip: Some(include_bytes!("chunk-KEXCF7AB.js.gz")),
    },
    File {
        name: "desk-A4Q7V3RE.css",
        content_type: "text/css; charset=utf-8",
        digest: "a0eea270a750614a883946ff494d6f82",
        bytes: include_bytes!("desk-A4Q7V3RE.css"),
        gzip: Some(include_bytes!("desk-A4Q7V3RE.css.gz")),
    },
    File {
        name: "desk-JWETD5VN.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "132cd0e275c919137dc3a7a3a1ba694f",
        bytes: include_bytes!("desk-JWETD5VN.js"),
        gzip: Some(include_bytes!("desk-JWETD5VN.js.gz")),
    },
    File {
        name: "dot-OCYNQVI7.woff2",
        content_type: "font/woff2",
        digest: "2f836007e2e45850cb2d5c5f3b5cd60b",
        bytes: include_bytes!("dot-OCYNQVI7.woff2"),
        gzip: None,
    },
    File {
        name: "holder-OPFLJMFS.css",
        content_type: "text/css; charset=utf-8",
        digest: "3efa694f9eeb4f359f7fd824e7c9004c",
        bytes: include_bytes!("holder-OPFLJMFS.css"),
        gzip: Some(include_bytes!("holder-OPFLJMFS.css.gz")),
    },
    File {
        name: "holder-Y2ENFCIX.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "c8334d2523128089c9a5c366cba426d0",
        bytes: include_bytes!("holder-Y2ENFCIX.js"),
        gzip: Some(include_bytes!("holder-Y2ENFCIX.js.gz")),
    },
    File {
        name: "home-47EKKAY7.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "e1c8b61e768734015adf56fb0486d994",
        bytes: include_bytes!("home-47EKKAY7.js"),
        gzip: Some(include_bytes!("home-47EKKAY7.js.gz")),
    },
    File {
        name: "home-OCVGWQIT.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "cbd5b65b8bb625bb90d90492f05fd1d2",
        bytes: include_bytes!("home-OCVGWQIT.js"),
        gzip: Some(include_bytes!("home-OCVGWQIT.js.gz")),
    },
    File {
        name: "icon-LON4Y3IE.svg",
        content_type: "image/svg+xml",
        digest: "9931453ad72a098aabfcb08c3f2e78dc",
        bytes: include_bytes!("icon-LON4Y3IE.svg"),
        gzip: Some(include_bytes!("icon-LON4Y3IE.svg.gz")),
    },
    File {
        name: "login-27ID3IWR.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "a4aa96731eb0d9beeac16cb12435d1c2",
        bytes: include_bytes!("login-27ID3IWR.js"),
        gzip: Some(include_bytes!("login-27ID3IWR.js.gz")),
    },
    File {
        name: "mono-HL3UKEM5.woff2",
        content_type: "font/woff2",
        digest: "b055e8f8a028a74ca70ec6693b4ccb1f",
        bytes: include_bytes!("mono-HL3UKEM5.woff2"),
        gzip: None,
    },
    File {
        name: "plot-MPEHL7Z6.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "2c8799be9ea44c1c493aa7e27a558538",
        bytes: include_bytes!("plot-MPEHL7Z6.js"),
        gzip: Some(include_bytes!("plot-MPEHL7Z6.js.gz")),
    },
    File {
        name: "public-T7TO2N3T.css",
        content_type: "text/css; charset=utf-8",
        digest: "a0eea270a750614a883946ff494d6f82",
        bytes: include_bytes!("public-T7TO2N3T.css"),
        gzip: Some(include_bytes!("public-T7TO2N3T.css.gz")),
    },
    File {
        name: "public-YTZZPADM.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "70a8ca6484544da80b6bc5db89b8ee15",
        bytes: include_bytes!("public-YTZZPADM.js"),
        gzip: Some(include_bytes!("public-YTZZPADM.js.gz")),
    },
    File {
        name: "sans-FMSCV2E6.woff2",
        content_type: "font/woff2",
        digest: "252c32aa3bdaa4e5b705f6deef8bd931",
        bytes: include_bytes!("sans-FMSCV2E6.woff2"),
        gzip: None,
    },
    File {
        name: "settings-7VMYH5PO.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "e0a89432313570c311f902b56847c887",
        bytes: include_bytes!("settings-7VMYH5PO.js"),
        gzip: Some(include_bytes!("settings-7VMYH5PO.js.gz")),
    },
    File {
        name: "statement-LITIIXT3.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "1c012f05c359872667e5316e6e9261f6",
        bytes: include_bytes!("statement-LITIIXT3.js"),
        gzip: Some(include_bytes!("statement-LITIIXT3.js.gz")),
    },
    File {
        name: "transfer-5ZHO3SQJ.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "962645705ccb30d11c12422c78ac7147",
        bytes: include_bytes!("transfer-5ZHO3SQJ.js"),
        gzip: Some(include_bytes!("transfer-5ZHO3SQJ.js.gz")),
    },
    File {
        name: "transfers-CJ4WXENJ.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "26f586e42bcbf0e8620464e052bb221c",
        bytes: include_bytes!("transfers-CJ4WXENJ.js"),
        gzip: Some(include_bytes!("transfers-CJ4WXENJ.js.gz")),
    },
    File {
        name: "withdraw-GXT4AQDF.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "861c5539d9d7aa36268c23e3f63b0c07",
        bytes: include_bytes!("withdraw-GXT4AQDF.js"),
        gzip: Some(include_bytes!("withdraw-GXT4AQDF.js.gz")),
    },
];
