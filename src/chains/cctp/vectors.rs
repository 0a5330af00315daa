//! The burn of the vector test, made by @solana/kit 8.4.0 from the published IDL of TokenMessengerMinterV2.

/// The wire transaction in base64: treasury key 3, fee payer key 1, event account key 4 (seeds of 32 equal bytes).
pub(super) const BURN: &str = concat!(
    "Axwh5Dr3uG1TvDU8IMsHbH3LY//ET2bhHQ5TMJgOE6UCZrpS2/AN58XiN4AikNCPxW99dnN78u04Sq3Y69ckEgeBzIkWVwr4",
    "vDxiQfcLyEwrxpE1ZJklR254bkkwvbqcuFNnAYkJuPQZTw+Zdrc/BQMZnRzk3mGjQTOnfehXuf8MHCVZYNnvc0p1m8houa5V",
    "O5CJOe5m9F+ZVt/3cETXHCBEy3Atzh61hV0e1VVj6bOtUHzSiMAMiVmcvBY4h1pMA4ADAQsSiojj3XQJ8ZX9UtstPLpdcspn",
    "Cb8dlBIb83SIAbQPb1zKk6wXBRhwcdZ7g8f/Dv6BCOjsRTBXXXcmh5Mz29q+fO1JKMYo0cLG6ukDOJBZlWEpWSc6XGP5NjbB",
    "RhSshzfRqaICYw2MUyRokkOjfeKFlnA+77AD/APSRh5te9lYF4C3u4T1/jPeFaQeWwjr0hpa8fhuRvZTRT6HDzBHpR7Q4Mb6",
    "evO+2606PWXzaqvJdDGxu+TC0vbg5HymAgNFL11hB26u7rNdg35WuF+8qDNV3qMUG5z9W5Cz6MbufAo0lC8AAAAAAAAAAAAA",
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAC3HvWvaOu5YY+IWBCLuLG/z1qu5gKG5WQCHBDiHdq1JUQAz/MeAA/Df1b5nUHSbhLn0",
    "gjucyDtstU8a2wzuIG6Oa2oxUh26mtCK8GttjOmqrPqCHqdxLLtLkmlKbwM2+6KcOoN1hf5QeGMdBDiGRj5eNfOGStuf2qMJ",
    "8gPUZb1Ipl/IHOGe3NLSw0CwL6Yb4dW63eFZKDPd+SAJ2M9oVFWmX8gdD++ohgyzuD8ImwIkvopmh7euSfWUwLm01+k4kwMG",
    "Rm/lIRcy/+ytunLDm+e8jOW7xfcSayxDmzpAAAAAwU7T/r/zG4lJydQRICm8XT7/UNqzL0Fki9YTk3Mz4b/8TJXCs/5E076/",
    "mk3pAgcPNiYQy709nnT8d6qMcSHbVQbd9uHXZaGT2cvhRs7reawctIXtX1s3kTqM9YV+/wCpCQkJCQkJCQkJCQkJCQkJCQkJ",
    "CQkJCQkJCQkJCQkJCQkDDgAFAkANAwAOAAkD6AMAAAAAAAANEgIACAQQBgoLDwMFAQwNEQcJDWDXPD0ucjeAsDRNTAAAAAAA",
    "BgAAAAAAAAAAAAAAAAAAAKqqqqqqqqqqqqqqqqqqqqqqqqqqAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAD0AQAA",
    "AAAAAOgDAAAA",
);

/// The instruction data in hexadecimal.
pub(super) const BURN_DATA: &str = concat!(
    "d73c3d2e723780b0344d4c000000000006000000000000000000000000000000aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "aaaaaaaa0000000000000000000000000000000000000000000000000000000000000000f401000000000000e8030000",
);

/// The accounts in the order of the IDL: address, must sign, is written to.
pub(super) const BURN_ACCOUNTS: [(&str, bool, bool); 18] = [
    ("GyGKxMyg1p9SsHfm15MkNUu1u9TN2JtTspcdmrtGUdse", true, false),
    ("AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9", true, true),
    ("45hzrGLQ2EGo1Ln7QpXjDwb589GDQ9H2aEXXw6ds6BFE", false, false),
    ("DNDTCnZkNk358qDFZd9unHtnrc73SsXcpVWtwJJMrR4B", false, true),
    ("HysUNosACeZstR3YTXoqQMUyfvCgms62wVnQNytaycQ4", false, false),
    ("W1k5ijkaSTo5iA5zChNpfzcy796fLhkBxfmJuR8W8HU", false, true),
    ("AawthJCGRmggpfv9MMWV6Jmo9cue4gL9wUZgRBShg58W", false, false),
    ("BwmDYtQ7jFj8ddaTmKa7fz9hyuK9n58mvc8G7DYNcKjM", false, false),
    ("E1bQJ8eMMn3zmeSewW3HQ8zmJr7KR75JonbwAtWx2bux", false, false),
    ("CRBBbuLCyrkQy4dCTHxqstSmDQv4ajBeUVb9qUdMVaP1", false, true),
    ("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", false, true),
    ("EdmxWPmx2WH6WgFfTdu9xfkYf3k1g5wD1zccTVySEEh1", true, true),
    ("CCTPV2Sm4AdWt5296sk4P66VBZ7bEhcARwFaaS9YPbeC", false, false),
    ("CCTPV2vPZJS2u2BBsUoscuikbYjnpFmbFsvVuJdgUMQe", false, false),
    ("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA", false, false),
    ("11111111111111111111111111111111", false, false),
    ("6TCCnJ9R1m1RXFzyoH7GYH2J6NJDtZaUvfipPuLWxHNd", false, false),
    ("CCTPV2vPZJS2u2BBsUoscuikbYjnpFmbFsvVuJdgUMQe", false, false),
];
