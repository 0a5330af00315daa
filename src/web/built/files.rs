//! The files of the web apps, written by `npm run build` in `src/web`.

use super::{File, Page};

pub(super) static DESK: Page = Page {
    html: include_str!("desk.html"),
    digest: "c50a48bb4ef39c29edb1c82521ab6b9c",
};

pub(super) static HOLDER: Page = Page {
    html: include_str!("holder.html"),
    digest: "1f2f26ac3a059928aeb4d1603d870b0b",
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
        name: "agents-S7D3AGFD.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "60cd20639269a8dd71d7de5612295972",
        bytes: include_bytes!("agents-S7D3AGFD.js"),
        gzip: Some(include_bytes!("agents-S7D3AGFD.js.gz")),
    },
    File {
        name: "approval-dialog-M2FW6XPW.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "283eda6e11f605b1197cbf69081fc46b",
        bytes: include_bytes!("approval-dialog-M2FW6XPW.js"),
        gzip: Some(include_bytes!("approval-dialog-M2FW6XPW.js.gz")),
    },
    File {
        name: "card-AQRPR4QT.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "23dfa418b6d4459ac94a8022da0511e3",
        bytes: include_bytes!("card-AQRPR4QT.js"),
        gzip: Some(include_bytes!("card-AQRPR4QT.js.gz")),
    },
    File {
        name: "cards-HWVQGJKI.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "2b0fb156b03576f4f1c1b5e15e762ae1",
        bytes: include_bytes!("cards-HWVQGJKI.js"),
        gzip: Some(include_bytes!("cards-HWVQGJKI.js.gz")),
    },
    File {
        name: "chunk-4L2YJGGV.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "c9d152e1885ddca460b38c2a6ed83acc",
        bytes: include_bytes!("chunk-4L2YJGGV.js"),
        gzip: Some(include_bytes!("chunk-4L2YJGGV.js.gz")),
    },
    File {
        name: "chunk-GVXTDS5O.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "76c34ea588ca07badcd892b8dbb84ce5",
        bytes: include_bytes!("chunk-GVXTDS5O.js"),
        gzip: Some(include_bytes!("chunk-GVXTDS5O.js.gz")),
    },
    File {
        name: "chunk-INTFOLL3.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "e3b0c44298fc1c149afbf4c8996fb924",
        bytes: include_bytes!("chunk-INTFOLL3.js"),
        gzip: Some(include_bytes!("chunk-INTFOLL3.js.gz")),
    },
    File {
        name: "chunk-NZH66Q2D.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "73fefd618cbe50a6f59d70befededb62",
        bytes: include_bytes!("chunk-NZH66Q2D.js"),
        gzip: Some(include_bytes!("chunk-NZH66Q2D.js.gz")),
    },
    File {
        name: "desk-JAWG5YUM.css",
        content_type: "text/css; charset=utf-8",
        digest: "c0325f6b5bdd2120fd500207f5362be2",
        bytes: include_bytes!("desk-JAWG5YUM.css"),
        gzip: Some(include_bytes!("desk-JAWG5YUM.css.gz")),
    },
    File {
        name: "desk-N3R6UK3P.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "c87a7d69b1b201101299b8370af56a78",
        bytes: include_bytes!("desk-N3R6UK3P.js"),
        gzip: Some(include_bytes!("desk-N3R6UK3P.js.gz")),
    },
    File {
        name: "dot-OCYNQVI7.woff2",
        content_type: "font/woff2",
        digest: "2f836007e2e45850cb2d5c5f3b5cd60b",
        bytes: include_bytes!("dot-OCYNQVI7.woff2"),
        gzip: None,
    },
    File {
        name: "holder-KNLXILSG.css",
        content_type: "text/css; charset=utf-8",
        digest: "6d5b6c3fb1878522e2b093f19986cee5",
        bytes: include_bytes!("holder-KNLXILSG.css"),
        gzip: Some(include_bytes!("holder-KNLXILSG.css.gz")),
    },
    File {
        name: "holder-PNQQ57VS.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "516632050a1c13eeef62077555db3c07",
        bytes: include_bytes!("holder-PNQQ57VS.js"),
        gzip: Some(include_bytes!("holder-PNQQ57VS.js.gz")),
    },
    File {
        name: "home-JZIPK5PE.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "0d250103c3c2c81493af9c29e23af1cc",
        bytes: include_bytes!("home-JZIPK5PE.js"),
        gzip: Some(include_bytes!("home-JZIPK5PE.js.gz")),
    },
    File {
        name: "home-QKCJV4N6.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "6c0933a45e4afea2c5a483009b719bba",
        bytes: include_bytes!("home-QKCJV4N6.js"),
        gzip: Some(include_bytes!("home-QKCJV4N6.js.gz")),
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
        name: "public-XS7ZZLKY.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "2ceefe0d33f2438d415d7d692ba7d947",
        bytes: include_bytes!("public-XS7ZZLKY.js"),
        gzip: Some(include_bytes!("public-XS7ZZLKY.js.gz")),
    },
    File {
        name: "sans-FMSCV2E6.woff2",
        content_type: "font/woff2",
        digest: "252c32aa3bdaa4e5b705f6deef8bd931",
        bytes: include_bytes!("sans-FMSCV2E6.woff2"),
        gzip: None,
    },
    File {
        name: "settings-WMB4BAA3.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "72ed01beb48fe17830442e7f8e7cf8cb",
        bytes: include_bytes!("settings-WMB4BAA3.js"),
        gzip: Some(include_bytes!("settings-WMB4BAA3.js.gz")),
    },
    File {
        name: "spending-Q222AM75.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "297cf73da299928ec3f7082fb2a34cea",
        bytes: include_bytes!("spending-Q222AM75.js"),
        gzip: Some(include_bytes!("spending-Q222AM75.js.gz")),
    },
    File {
        name: "statement-E62RZFC4.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "18dd17bff32f2b6b2b24f2e76dd29490",
        bytes: include_bytes!("statement-E62RZFC4.js"),
        gzip: Some(include_bytes!("statement-E62RZFC4.js.gz")),
    },
    File {
        name: "transfer-76BFWC6W.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "619851dc3aea2715332e6af80a20799c",
        bytes: include_bytes!("transfer-76BFWC6W.js"),
        gzip: Some(include_bytes!("transfer-76BFWC6W.js.gz")),
    },
    File {
        name: "transfers-2UAPEJIF.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "1be8fc18692f7db4ceb23efefde73dd1",
        bytes: include_bytes!("transfers-2UAPEJIF.js"),
        gzip: Some(include_bytes!("transfers-2UAPEJIF.js.gz")),
    },
    File {
        name: "withdraw-YAH5Y4IZ.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "141b88fda7168bd41f34b47d77f245ec",
        bytes: include_bytes!("withdraw-YAH5Y4IZ.js"),
        gzip: Some(include_bytes!("withdraw-YAH5Y4IZ.js.gz")),
    },
];
