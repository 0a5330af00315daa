//! The files of the web apps, written by `npm run build` in `src/web`.

use super::File;

pub(super) static FILES: &[File] = &[
    File {
        name: "LICENSE-mono.txt",
        content_type: "text/plain; charset=utf-8",
        digest: "cc815ed4fc045f0e991abb10395b7932",
        bytes: include_bytes!("LICENSE-mono.txt"),
    },
    File {
        name: "LICENSE-sans.txt",
        content_type: "text/plain; charset=utf-8",
        digest: "f45f60ca871850c58d8dc9c973bd6fca",
        bytes: include_bytes!("LICENSE-sans.txt"),
    },
    File {
        name: "agents-VJ4CRGBD.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "33a034fd617031e9d568aa04d7dacc59",
        bytes: include_bytes!("agents-VJ4CRGBD.js"),
    },
    File {
        name: "card-3T6GN3DE.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "c468cf46870142ffa9d490deeb8887c9",
        bytes: include_bytes!("card-3T6GN3DE.js"),
    },
    File {
        name: "cards-UR754FEB.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "1431d48db36900dd78f119cd29b9481e",
        bytes: include_bytes!("cards-UR754FEB.js"),
    },
    File {
        name: "chunk-5ODE6UBK.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "af6f045f620c8e01a589915c255c1b1d",
        bytes: include_bytes!("chunk-5ODE6UBK.js"),
    },
    File {
        name: "chunk-BE27RBRH.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "456f187fad52e80f9cd8097d4bc9d450",
        bytes: include_bytes!("chunk-BE27RBRH.js"),
    },
    File {
        name: "chunk-INTFOLL3.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "e3b0c44298fc1c149afbf4c8996fb924",
        bytes: include_bytes!("chunk-INTFOLL3.js"),
    },
    File {
        name: "desk-H2QUKR6R.css",
        content_type: "text/css; charset=utf-8",
        digest: "10bc4caaf2bf2f3b9f18e9fddea09b7d",
        bytes: include_bytes!("desk-H2QUKR6R.css"),
    },
    File {
        name: "desk-XCVEIJH3.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "3379ca3509d7707d5f3ceabead786991",
        bytes: include_bytes!("desk-XCVEIJH3.js"),
    },
    File {
        name: "desk.html",
        content_type: "text/html; charset=utf-8",
        digest: "8eeb542d2a471c18fdd37d2b75338f80",
        bytes: include_bytes!("desk.html"),
    },
    File {
        name: "dot-OCYNQVI7.woff2",
        content_type: "font/woff2",
        digest: "2f836007e2e45850cb2d5c5f3b5cd60b",
        bytes: include_bytes!("dot-OCYNQVI7.woff2"),
    },
    File {
        name: "holder-RYAJ7EYJ.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "ae7d8c5749260b8fabfb732d2afb3825",
        bytes: include_bytes!("holder-RYAJ7EYJ.js"),
    },
    File {
        name: "holder-VSDFBOKC.css",
        content_type: "text/css; charset=utf-8",
        digest: "e43b37fe9415646447c556d5fa72fc88",
        bytes: include_bytes!("holder-VSDFBOKC.css"),
    },
    File {
        name: "holder.html",
        content_type: "text/html; charset=utf-8",
        digest: "d20c2bea729fce8dee7254aca2c58d57",
        bytes: include_bytes!("holder.html"),
    },
    File {
        name: "home-G4YTV4C6.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "524d9489c5edbe321da55c6eab74d377",
        bytes: include_bytes!("home-G4YTV4C6.js"),
    },
    File {
        name: "home-V62KWWSI.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "607d820edcd4ea91b5bbf01b75955533",
        bytes: include_bytes!("home-V62KWWSI.js"),
    },
    File {
        name: "mono-HL3UKEM5.woff2",
        content_type: "font/woff2",
        digest: "b055e8f8a028a74ca70ec6693b4ccb1f",
        bytes: include_bytes!("mono-HL3UKEM5.woff2"),
    },
    File {
        name: "plot-MPEHL7Z6.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "2c8799be9ea44c1c493aa7e27a558538",
        bytes: include_bytes!("plot-MPEHL7Z6.js"),
    },
    File {
        name: "public-MQIXR5IJ.css",
        content_type: "text/css; charset=utf-8",
        digest: "10bc4caaf2bf2f3b9f18e9fddea09b7d",
        bytes: include_bytes!("public-MQIXR5IJ.css"),
    },
    File {
        name: "public-TYYI6CJ2.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "7807d81738b8550f9c5915b22068ab94",
        bytes: include_bytes!("public-TYYI6CJ2.js"),
    },
    File {
        name: "public.html",
        content_type: "text/html; charset=utf-8",
        digest: "22142d277ded2d06e2f208f3d3c8287f",
        bytes: include_bytes!("public.html"),
    },
    File {
        name: "sans-FMSCV2E6.woff2",
        content_type: "font/woff2",
        digest: "252c32aa3bdaa4e5b705f6deef8bd931",
        bytes: include_bytes!("sans-FMSCV2E6.woff2"),
    },
    File {
        name: "settings-GVKEBRIL.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "dd34c140b69b367968b206380af6857a",
        bytes: include_bytes!("settings-GVKEBRIL.js"),
    },
    File {
        name: "statement-7PXHF4FR.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "5c9b8e6e0cf8ef13a4bda43d7d3d2073",
        bytes: include_bytes!("statement-7PXHF4FR.js"),
    },
    File {
        name: "transfer-OIE4TTJH.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "dd55276b1efcf96d2f95618ccec96447",
        bytes: include_bytes!("transfer-OIE4TTJH.js"),
    },
    File {
        name: "transfers-KY7LN3KX.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "1c807389bede3748d7a1d5388bb861af",
        bytes: include_bytes!("transfers-KY7LN3KX.js"),
    },
];
