//! The files of the web apps, written by `npm run build` in `src/web`.

use super::{File, Page};

pub(super) static DESK: Page = Page {
    html: include_str!("desk.html"),
    digest: "42fbe4994ba60236be080c0c71d0a7bc",
};

pub(super) static HOLDER: Page = Page {
    html: include_str!("holder.html"),
    digest: "b0b133f39990baaeb3a8bb9ba724aab7",
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
        name: "agents-LNF3Z7NQ.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "fb17b368a14275a0fd06560e3a92fed7",
        bytes: include_bytes!("agents-LNF3Z7NQ.js"),
        gzip: Some(include_bytes!("agents-LNF3Z7NQ.js.gz")),
    },
    File {
        name: "approval-dialog-YTPG6KMD.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "2415a6ed8085d2e469807b36d1ebb82d",
        bytes: include_bytes!("approval-dialog-YTPG6KMD.js"),
        gzip: Some(include_bytes!("approval-dialog-YTPG6KMD.js.gz")),
    },
    File {
        name: "card-EQOCTJDN.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "77e5ec5988f79ab703e12d3fd72d82df",
        bytes: include_bytes!("card-EQOCTJDN.js"),
        gzip: Some(include_bytes!("card-EQOCTJDN.js.gz")),
    },
    File {
        name: "cards-4OMAJV2S.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "2c67002ab315541c5e673b3221362f28",
        bytes: include_bytes!("cards-4OMAJV2S.js"),
        gzip: Some(include_bytes!("cards-4OMAJV2S.js.gz")),
    },
    File {
        name: "chunk-4CNAGD7M.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "fe1085dd22f9c124a4560d2a86cc8491",
        bytes: include_bytes!("chunk-4CNAGD7M.js"),
        gzip: Some(include_bytes!("chunk-4CNAGD7M.js.gz")),
    },
    File {
        name: "chunk-INTFOLL3.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "e3b0c44298fc1c149afbf4c8996fb924",
        bytes: include_bytes!("chunk-INTFOLL3.js"),
        gzip: Some(include_bytes!("chunk-INTFOLL3.js.gz")),
    },
    File {
        name: "chunk-IREKVJBE.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "90972713f5c3dbb87e4ac6def66f15c5",
        bytes: include_bytes!("chunk-IREKVJBE.js"),
        gzip: Some(include_bytes!("chunk-IREKVJBE.js.gz")),
    },
    File {
        name: "chunk-VVEX3XJL.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "c67aad61a70a848e9fd6c1cbc0367bc4",
        bytes: include_bytes!("chunk-VVEX3XJL.js"),
        gzip: Some(include_bytes!("chunk-VVEX3XJL.js.gz")),
    },
    File {
        name: "desk-E4ZWYU2N.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "c6cb60d8332a7c1b230807ff862709dc",
        bytes: include_bytes!("desk-E4ZWYU2N.js"),
        gzip: Some(include_bytes!("desk-E4ZWYU2N.js.gz")),
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
        name: "holder-6E4NA3PR.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "4894879a964369b4429f2b425b28c4db",
        bytes: include_bytes!("holder-6E4NA3PR.js"),
        gzip: Some(include_bytes!("holder-6E4NA3PR.js.gz")),
    },
    File {
        name: "holder-KNLXILSG.css",
        content_type: "text/css; charset=utf-8",
        digest: "6d5b6c3fb1878522e2b093f19986cee5",
        bytes: include_bytes!("holder-KNLXILSG.css"),
        gzip: Some(include_bytes!("holder-KNLXILSG.css.gz")),
    },
    File {
        name: "home-HYRUDV6Z.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "560f22cc867e1358bd5e5dfc857e6e60",
        bytes: include_bytes!("home-HYRUDV6Z.js"),
        gzip: Some(include_bytes!("home-HYRUDV6Z.js.gz")),
    },
    File {
        name: "home-NY4UYTWJ.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "fa58405b57594a75936b05e3f2b32def",
        bytes: include_bytes!("home-NY4UYTWJ.js"),
        gzip: Some(include_bytes!("home-NY4UYTWJ.js.gz")),
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
        name: "public-TT5MMOGY.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "a17254c92a20e1301884863f8c5c9f5c",
        bytes: include_bytes!("public-TT5MMOGY.js"),
        gzip: Some(include_bytes!("public-TT5MMOGY.js.gz")),
    },
    File {
        name: "sans-FMSCV2E6.woff2",
        content_type: "font/woff2",
        digest: "252c32aa3bdaa4e5b705f6deef8bd931",
        bytes: include_bytes!("sans-FMSCV2E6.woff2"),
        gzip: None,
    },
    File {
        name: "settings-6Q5K2LQT.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "4edf2a7e4e84abe66eb2e0be809a4b22",
        bytes: include_bytes!("settings-6Q5K2LQT.js"),
        gzip: Some(include_bytes!("settings-6Q5K2LQT.js.gz")),
    },
    File {
        name: "spending-CV7SPIX2.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "52ea8e11606fd53ba3a717c53eb29083",
        bytes: include_bytes!("spending-CV7SPIX2.js"),
        gzip: Some(include_bytes!("spending-CV7SPIX2.js.gz")),
    },
    File {
        name: "statement-KBPOYJSZ.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "b9136a6a54c10c36fefd6b99b894dd3f",
        bytes: include_bytes!("statement-KBPOYJSZ.js"),
        gzip: Some(include_bytes!("statement-KBPOYJSZ.js.gz")),
    },
    File {
        name: "transfer-C7CUSMD6.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "86bae2b40a4a21f9c42a6041a0ee2174",
        bytes: include_bytes!("transfer-C7CUSMD6.js"),
        gzip: Some(include_bytes!("transfer-C7CUSMD6.js.gz")),
    },
    File {
        name: "transfers-ZSS74U5H.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "5010df40d6fe30613cc527e535d96b93",
        bytes: include_bytes!("transfers-ZSS74U5H.js"),
        gzip: Some(include_bytes!("transfers-ZSS74U5H.js.gz")),
    },
    File {
        name: "withdraw-V5IIXYPT.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "12acd199490edda0fc68cbb8dd55550b",
        bytes: include_bytes!("withdraw-V5IIXYPT.js"),
        gzip: Some(include_bytes!("withdraw-V5IIXYPT.js.gz")),
    },
];
