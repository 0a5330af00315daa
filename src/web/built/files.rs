//! The files of the web apps, written by `npm run build` in `src/web`.

use super::{File, Page};

pub(super) static DESK: Page = Page {
    html: include_str!("desk.html"),
    digest: "fd0aa31e3d8dfa1a82c24393aa960636",
};

pub(super) static HOLDER: Page = Page {
    html: include_str!("holder.html"),
    digest: "8fa872af48b97f2b7f2cde3cc75cbc83",
};

pub(super) static LINK_USED: Page = Page {
    html: include_str!("link-used.html"),
    digest: "6d7e6ae7d27cd3782959cb4b4f24bfac",
};

pub(super) static LOGIN: Page = Page {
    html: include_str!("login.html"),
    digest: "832d85dce12320517e9253e37196837b",
};

pub(super) static SIGNED_IN: Page = Page {
    html: include_str!("signed-in.html"),
    digest: "068ed6f261c127d87ef877d361cad076",
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
        name: "agents-OAED7OAS.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "a4e5be1f4a174fd021cfbaebecef16d5",
        bytes: include_bytes!("agents-OAED7OAS.js"),
        gzip: Some(include_bytes!("agents-OAED7OAS.js.gz")),
    },
    File {
        name: "approval-dialog-FHS6IFX4.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "497415775c458ac65da69cca1cf3439f",
        bytes: include_bytes!("approval-dialog-FHS6IFX4.js"),
        gzip: Some(include_bytes!("approval-dialog-FHS6IFX4.js.gz")),
    },
    File {
        name: "card-UXXFM3DG.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "d5ff9d9a693d99d7ccab10d29da1eb1e",
        bytes: include_bytes!("card-UXXFM3DG.js"),
        gzip: Some(include_bytes!("card-UXXFM3DG.js.gz")),
    },
    File {
        name: "cards-JHMVROJB.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "5f4d0e5d0380ec73e9799fbb604e52f0",
        bytes: include_bytes!("cards-JHMVROJB.js"),
        gzip: Some(include_bytes!("cards-JHMVROJB.js.gz")),
    },
    File {
        name: "chunk-HKAND7OV.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "272d6d3ff4682490cb363bce9cf7f6b8",
        bytes: include_bytes!("chunk-HKAND7OV.js"),
        gzip: Some(include_bytes!("chunk-HKAND7OV.js.gz")),
    },
    File {
        name: "chunk-INTFOLL3.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "e3b0c44298fc1c149afbf4c8996fb924",
        bytes: include_bytes!("chunk-INTFOLL3.js"),
        gzip: Some(include_bytes!("chunk-INTFOLL3.js.gz")),
    },
    File {
        name: "chunk-M4H4MIY7.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "dd88164200925b0f0352ebf90d8b765e",
        bytes: include_bytes!("chunk-M4H4MIY7.js"),
        gzip: Some(include_bytes!("chunk-M4H4MIY7.js.gz")),
    },
    File {
        name: "chunk-XNKIGFUY.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "96cdd663f91e12ef610d2c212f951f3d",
        bytes: include_bytes!("chunk-XNKIGFUY.js"),
        gzip: Some(include_bytes!("chunk-XNKIGFUY.js.gz")),
    },
    File {
        name: "desk-HEAVCQZS.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "f14f2b89d547bbb01ff63a8bec3b324d",
        bytes: include_bytes!("desk-HEAVCQZS.js"),
        gzip: Some(include_bytes!("desk-HEAVCQZS.js.gz")),
    },
    File {
        name: "desk-JAWG5YUM.css",
        content_type: "text/css; charset=utf-8",
        digest: "c0325f6b5bdd2120fd500207f5362be2",
        bytes: include_bytes!("desk-JAWG5YUM.css"),
        gzip: Some(include_bytes!("desk-JAWG5YUM.css.gz")),
    },
    File {
        name: "dot-OCYNQVI7.woff2",
        content_type: "font/woff2",
        digest: "2f836007e2e45850cb2d5c5f3b5cd60b",
        bytes: include_bytes!("dot-OCYNQVI7.woff2"),
        gzip: None,
    },
    File {
        name: "holder-B7HWHGBO.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "c7e52ebb316c603913cf5f86f2a0cb29",
        bytes: include_bytes!("holder-B7HWHGBO.js"),
        gzip: Some(include_bytes!("holder-B7HWHGBO.js.gz")),
    },
    File {
        name: "holder-KNLXILSG.css",
        content_type: "text/css; charset=utf-8",
        digest: "6d5b6c3fb1878522e2b093f19986cee5",
        bytes: include_bytes!("holder-KNLXILSG.css"),
        gzip: Some(include_bytes!("holder-KNLXILSG.css.gz")),
    },
    File {
        name: "home-QWSORPO4.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "614a74ca05cb54fa7a55a0c8bb9b3342",
        bytes: include_bytes!("home-QWSORPO4.js"),
        gzip: Some(include_bytes!("home-QWSORPO4.js.gz")),
    },
    File {
        name: "home-VM4TLOVN.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "aed31143a01157ce33c5955904294942",
        bytes: include_bytes!("home-VM4TLOVN.js"),
        gzip: Some(include_bytes!("home-VM4TLOVN.js.gz")),
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
        name: "public-O6ZDUH4C.css",
        content_type: "text/css; charset=utf-8",
        digest: "c0325f6b5bdd2120fd500207f5362be2",
        bytes: include_bytes!("public-O6ZDUH4C.css"),
        gzip: Some(include_bytes!("public-O6ZDUH4C.css.gz")),
    },
    File {
        name: "public-TCEQSK33.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "f5ca4b7cc16c4a65efe92cc4c7d58dd9",
        bytes: include_bytes!("public-TCEQSK33.js"),
        gzip: Some(include_bytes!("public-TCEQSK33.js.gz")),
    },
    File {
        name: "sans-FMSCV2E6.woff2",
        content_type: "font/woff2",
        digest: "252c32aa3bdaa4e5b705f6deef8bd931",
        bytes: include_bytes!("sans-FMSCV2E6.woff2"),
        gzip: None,
    },
    File {
        name: "settings-2JB2XW5R.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "cc46322a230a958658f6c0d658c03393",
        bytes: include_bytes!("settings-2JB2XW5R.js"),
        gzip: Some(include_bytes!("settings-2JB2XW5R.js.gz")),
    },
    File {
        name: "spending-Y6SKVWQN.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "aca756941e56a23727bc0472b0bc968e",
        bytes: include_bytes!("spending-Y6SKVWQN.js"),
        gzip: Some(include_bytes!("spending-Y6SKVWQN.js.gz")),
    },
    File {
        name: "statement-Y3VHR4JJ.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "88df27455a8da8cab817005c75833594",
        bytes: include_bytes!("statement-Y3VHR4JJ.js"),
        gzip: Some(include_bytes!("statement-Y3VHR4JJ.js.gz")),
    },
    File {
        name: "transfer-TJ2MMN3O.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "23c0bf6e6ce8aadd5a3632f691db0e0e",
        bytes: include_bytes!("transfer-TJ2MMN3O.js"),
        gzip: Some(include_bytes!("transfer-TJ2MMN3O.js.gz")),
    },
    File {
        name: "transfers-YLC53UHZ.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "3aef415ce1729e8feb51639dc7ef0b73",
        bytes: include_bytes!("transfers-YLC53UHZ.js"),
        gzip: Some(include_bytes!("transfers-YLC53UHZ.js.gz")),
    },
    File {
        name: "withdraw-BIVKULJP.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "e89ff554466cf071a0879044c402f1d8",
        bytes: include_bytes!("withdraw-BIVKULJP.js"),
        gzip: Some(include_bytes!("withdraw-BIVKULJP.js.gz")),
    },
];
