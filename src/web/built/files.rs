//! The files of the web apps, written by `npm run build` in `src/web`.

use super::{File, Page};

pub(super) static DESK: Page = Page {
    html: include_str!("desk.html"),
    digest: "b9e3c075e99e7ebcd882bfd27da2cda0",
};

pub(super) static HOLDER: Page = Page {
    html: include_str!("holder.html"),
    digest: "55ea848154466d8b0beaf8cecede0c07",
};

pub(super) static LINK_USED: Page = Page {
    html: include_str!("link-used.html"),
    digest: "95ae36ed684020c0a084f7bba39f9b1b",
};

pub(super) static LOGIN: Page = Page {
    html: include_str!("login.html"),
    digest: "e2c3759aa3b29e603388997c1f4ba2db",
};

pub(super) static SIGNED_IN: Page = Page {
    html: include_str!("signed-in.html"),
    digest: "c6de38481862468eff50988d11a31318",
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
        name: "agents-X7EUFE76.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "11bc4f34c5032c592b6cb6ac11f99107",
        bytes: include_bytes!("agents-X7EUFE76.js"),
        gzip: Some(include_bytes!("agents-X7EUFE76.js.gz")),
    },
    File {
        name: "approval-dialog-F3ZKPLV2.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "65928bde6273c4383d320c65d9d54af0",
        bytes: include_bytes!("approval-dialog-F3ZKPLV2.js"),
        gzip: Some(include_bytes!("approval-dialog-F3ZKPLV2.js.gz")),
    },
    File {
        name: "card-YKTQTM6F.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "d4a1c887ab412d4cfffc3ba78aa02f37",
        bytes: include_bytes!("card-YKTQTM6F.js"),
        gzip: Some(include_bytes!("card-YKTQTM6F.js.gz")),
    },
    File {
        name: "cards-ZCSRMUZW.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "73178341e60a9e472c48e333368312dd",
        bytes: include_bytes!("cards-ZCSRMUZW.js"),
        gzip: Some(include_bytes!("cards-ZCSRMUZW.js.gz")),
    },
    File {
        name: "chunk-2E2QI2W7.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "6fc5aa376cf49f819130aff111775ce5",
        bytes: include_bytes!("chunk-2E2QI2W7.js"),
        gzip: Some(include_bytes!("chunk-2E2QI2W7.js.gz")),
    },
    File {
        name: "chunk-EE6RS6FB.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "b772531d5b17c76529c5e29ca84b3df5",
        bytes: include_bytes!("chunk-EE6RS6FB.js"),
        gzip: Some(include_bytes!("chunk-EE6RS6FB.js.gz")),
    },
    File {
        name: "chunk-INTFOLL3.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "e3b0c44298fc1c149afbf4c8996fb924",
        bytes: include_bytes!("chunk-INTFOLL3.js"),
        gzip: Some(include_bytes!("chunk-INTFOLL3.js.gz")),
    },
    File {
        name: "chunk-KRPAFT6Y.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "74fb739d20b5697f738949138285fc34",
        bytes: include_bytes!("chunk-KRPAFT6Y.js"),
        gzip: Some(include_bytes!("chunk-KRPAFT6Y.js.gz")),
    },
    File {
        name: "desk-MPRECTRI.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "109c945403ca8f52815475406117b91a",
        bytes: include_bytes!("desk-MPRECTRI.js"),
        gzip: Some(include_bytes!("desk-MPRECTRI.js.gz")),
    },
    File {
        name: "desk-NHMH3DDG.css",
        content_type: "text/css; charset=utf-8",
        digest: "fa9f9d9fa6f7958e074442de61f6c027",
        bytes: include_bytes!("desk-NHMH3DDG.css"),
        gzip: Some(include_bytes!("desk-NHMH3DDG.css.gz")),
    },
    File {
        name: "dot-OCYNQVI7.woff2",
        content_type: "font/woff2",
        digest: "2f836007e2e45850cb2d5c5f3b5cd60b",
        bytes: include_bytes!("dot-OCYNQVI7.woff2"),
        gzip: None,
    },
    File {
        name: "holder-2BFTVMGF.css",
        content_type: "text/css; charset=utf-8",
        digest: "7d9edc55d8a71f2c338a7da5c0604c55",
        bytes: include_bytes!("holder-2BFTVMGF.css"),
        gzip: Some(include_bytes!("holder-2BFTVMGF.css.gz")),
    },
    File {
        name: "holder-2LVWMMV3.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "ab33557724f84b3c302b3af021915a1f",
        bytes: include_bytes!("holder-2LVWMMV3.js"),
        gzip: Some(include_bytes!("holder-2LVWMMV3.js.gz")),
    },
    File {
        name: "home-BNKCL65Q.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "a55887586efe27c6d1928505110b08d8",
        bytes: include_bytes!("home-BNKCL65Q.js"),
        gzip: Some(include_bytes!("home-BNKCL65Q.js.gz")),
    },
    File {
        name: "home-PHZGYFUW.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "5e96a897f64f307a402a176a311e4cd5",
        bytes: include_bytes!("home-PHZGYFUW.js"),
        gzip: Some(include_bytes!("home-PHZGYFUW.js.gz")),
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
        name: "plain-DDVAZ43C.css",
        content_type: "text/css; charset=utf-8",
        digest: "76ccbcebfa7fb01dfcef0152fe90ff94",
        bytes: include_bytes!("plain-DDVAZ43C.css"),
        gzip: Some(include_bytes!("plain-DDVAZ43C.css.gz")),
    },
    File {
        name: "plot-MPEHL7Z6.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "2c8799be9ea44c1c493aa7e27a558538",
        bytes: include_bytes!("plot-MPEHL7Z6.js"),
        gzip: Some(include_bytes!("plot-MPEHL7Z6.js.gz")),
    },
    File {
        name: "public-ALWOTWON.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "636dee4eb09a3f0de04b1cc977fa3625",
        bytes: include_bytes!("public-ALWOTWON.js"),
        gzip: Some(include_bytes!("public-ALWOTWON.js.gz")),
    },
    File {
        name: "public-LU2MLMPR.css",
        content_type: "text/css; charset=utf-8",
        digest: "fa9f9d9fa6f7958e074442de61f6c027",
        bytes: include_bytes!("public-LU2MLMPR.css"),
        gzip: Some(include_bytes!("public-LU2MLMPR.css.gz")),
    },
    File {
        name: "sans-FMSCV2E6.woff2",
        content_type: "font/woff2",
        digest: "252c32aa3bdaa4e5b705f6deef8bd931",
        bytes: include_bytes!("sans-FMSCV2E6.woff2"),
        gzip: None,
    },
    File {
        name: "settings-DHTDTTH3.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "743b79767f3b1677ab00195b7a3e0cf5",
        bytes: include_bytes!("settings-DHTDTTH3.js"),
        gzip: Some(include_bytes!("settings-DHTDTTH3.js.gz")),
    },
    File {
        name: "statement-XZAMBHY3.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "e16d62c4e1751a60a063f39f2402bb69",
        bytes: include_bytes!("statement-XZAMBHY3.js"),
        gzip: Some(include_bytes!("statement-XZAMBHY3.js.gz")),
    },
    File {
        name: "transfer-FO2QF7SE.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "c62bffb709c9f547eb5af9b7a6563a9d",
        bytes: include_bytes!("transfer-FO2QF7SE.js"),
        gzip: Some(include_bytes!("transfer-FO2QF7SE.js.gz")),
    },
    File {
        name: "transfers-VM2532A3.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "ec8f81cb5aa0a537581722a650b708d1",
        bytes: include_bytes!("transfers-VM2532A3.js"),
        gzip: Some(include_bytes!("transfers-VM2532A3.js.gz")),
    },
    File {
        name: "withdraw-U5AMP355.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "b38903f13225edc1967718caf6afbc02",
        bytes: include_bytes!("withdraw-U5AMP355.js"),
        gzip: Some(include_bytes!("withdraw-U5AMP355.js.gz")),
    },
];
