//! The files of the web apps, written by `npm run build` in `src/web`.

use super::{File, Page};

pub(super) static DESK: Page = Page {
    html: include_str!("desk.html"),
    digest: "a85887dc42ebb814c86cf8e9c2fde1b8",
};

pub(super) static HOLDER: Page = Page {
    html: include_str!("holder.html"),
    digest: "bce29332a19fdea27419b004b8350d5d",
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
        name: "agents-VRRUSFIJ.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "5b2a7eca0753ff9a4f6ad948fe501d48",
        bytes: include_bytes!("agents-VRRUSFIJ.js"),
        gzip: Some(include_bytes!("agents-VRRUSFIJ.js.gz")),
    },
    File {
        name: "approval-dialog-HOE477LF.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "15f51954449680f1e461609bef9ae4b9",
        bytes: include_bytes!("approval-dialog-HOE477LF.js"),
        gzip: Some(include_bytes!("approval-dialog-HOE477LF.js.gz")),
    },
    File {
        name: "card-VVZP4P6X.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "2c9a463866c90c55f4649afcc0afbf53",
        bytes: include_bytes!("card-VVZP4P6X.js"),
        gzip: Some(include_bytes!("card-VVZP4P6X.js.gz")),
    },
    File {
        name: "cards-PSZ5KESV.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "9189a624b75a712c19ff201a0bf68591",
        bytes: include_bytes!("cards-PSZ5KESV.js"),
        gzip: Some(include_bytes!("cards-PSZ5KESV.js.gz")),
    },
    File {
        name: "chunk-57LTPVOY.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "d06f71cf709b980518e18ed921c8e5ca",
        bytes: include_bytes!("chunk-57LTPVOY.js"),
        gzip: Some(include_bytes!("chunk-57LTPVOY.js.gz")),
    },
    File {
        name: "chunk-EIBLA4LA.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "e82a41db8b030a5a0e5c8ed6b2833684",
        bytes: include_bytes!("chunk-EIBLA4LA.js"),
        gzip: Some(include_bytes!("chunk-EIBLA4LA.js.gz")),
    },
    File {
        name: "chunk-INTFOLL3.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "e3b0c44298fc1c149afbf4c8996fb924",
        bytes: include_bytes!("chunk-INTFOLL3.js"),
        gzip: Some(include_bytes!("chunk-INTFOLL3.js.gz")),
    },
    File {
        name: "chunk-W3LPL4AG.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "c6c2511f8de31bc503e2d79c56a1dfa8",
        bytes: include_bytes!("chunk-W3LPL4AG.js"),
        gzip: Some(include_bytes!("chunk-W3LPL4AG.js.gz")),
    },
    File {
        name: "desk-6NETN7W5.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "3e57982915affef1a29bb3eb23c271b7",
        bytes: include_bytes!("desk-6NETN7W5.js"),
        gzip: Some(include_bytes!("desk-6NETN7W5.js.gz")),
    },
    File {
        name: "desk-A4Q7V3RE.css",
        content_type: "text/css; charset=utf-8",
        digest: "a0eea270a750614a883946ff494d6f82",
        bytes: include_bytes!("desk-A4Q7V3RE.css"),
        gzip: Some(include_bytes!("desk-A4Q7V3RE.css.gz")),
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
        name: "holder-PW5H7G4I.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "5810fdbbc17ab57c3e44885da3574c99",
        bytes: include_bytes!("holder-PW5H7G4I.js"),
        gzip: Some(include_bytes!("holder-PW5H7G4I.js.gz")),
    },
    File {
        name: "home-4QQASI72.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "2868b73eb7905fc11bbc19802b484c63",
        bytes: include_bytes!("home-4QQASI72.js"),
        gzip: Some(include_bytes!("home-4QQASI72.js.gz")),
    },
    File {
        name: "home-TYBP2KHG.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "2bc05e25db0f152538f640458593f966",
        bytes: include_bytes!("home-TYBP2KHG.js"),
        gzip: Some(include_bytes!("home-TYBP2KHG.js.gz")),
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
        name: "public-4GUTFMZ3.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "a8983a1a7312b4dcd384eb7b6bd4a97e",
        bytes: include_bytes!("public-4GUTFMZ3.js"),
        gzip: Some(include_bytes!("public-4GUTFMZ3.js.gz")),
    },
    File {
        name: "public-T7TO2N3T.css",
        content_type: "text/css; charset=utf-8",
        digest: "a0eea270a750614a883946ff494d6f82",
        bytes: include_bytes!("public-T7TO2N3T.css"),
        gzip: Some(include_bytes!("public-T7TO2N3T.css.gz")),
    },
    File {
        name: "sans-FMSCV2E6.woff2",
        content_type: "font/woff2",
        digest: "252c32aa3bdaa4e5b705f6deef8bd931",
        bytes: include_bytes!("sans-FMSCV2E6.woff2"),
        gzip: None,
    },
    File {
        name: "settings-OMEUYH5I.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "e732d0a1d32c8b5efffb9134a062727e",
        bytes: include_bytes!("settings-OMEUYH5I.js"),
        gzip: Some(include_bytes!("settings-OMEUYH5I.js.gz")),
    },
    File {
        name: "statement-LCJBVAA5.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "5b03bb20e7bfc260b763b7c154ffb197",
        bytes: include_bytes!("statement-LCJBVAA5.js"),
        gzip: Some(include_bytes!("statement-LCJBVAA5.js.gz")),
    },
    File {
        name: "transfer-5NKBRUUS.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "d6b01049bc0a58c5bde0259ac681dc3a",
        bytes: include_bytes!("transfer-5NKBRUUS.js"),
        gzip: Some(include_bytes!("transfer-5NKBRUUS.js.gz")),
    },
    File {
        name: "transfers-KLFM4Z5C.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "99a5f6e44fa9727d73247eaed9573330",
        bytes: include_bytes!("transfers-KLFM4Z5C.js"),
        gzip: Some(include_bytes!("transfers-KLFM4Z5C.js.gz")),
    },
    File {
        name: "withdraw-OZXFKEPP.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "7584e632729dcdc3ca0bccc88c93c590",
        bytes: include_bytes!("withdraw-OZXFKEPP.js"),
        gzip: Some(include_bytes!("withdraw-OZXFKEPP.js.gz")),
    },
];
