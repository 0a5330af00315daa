//! Wire transactions made by @solana/kit 8.4.0 and @solana-program/token 0.16.1, in base64.
//!
//! Keys are the ed25519 seeds of 32 equal bytes: 1 the fee payer, 2 the payer, 3 the merchant, 4 an event account. The
//! blockhash is 32 bytes of 9. A payment has SetComputeUnitLimit 20,000, SetComputeUnitPrice 1, TransferChecked of
//! 1,500,000 units of mainnet USDC from payer to merchant, and a memo of 32 letters a.

/// Version 0, signed by the payer; slot 0 is empty.
pub(super) const PAYMENT_V0: &str = concat!(
    "AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAADRqoJd/uxd",
    "MCj6pWua8aUO9VFlxN5wAGsVTQHjzVntAh61u4vt7HypB4f6cW+agqQAUfA/L+SiszGsjVwIRU4LgAIBBAiKiOPddAnxlf1S",
    "2y08ul1yymcJvx2UEhvzdIgBtA9vXIE5dw6ofRdfVqNUZsNMfszLjYqRtO43ol32D1uPybOUjETp04tB+SqkMwRAOxAkRbfc",
    "j4nLfZEMLTVLT/56fhO3u4T1/jPeFaQeWwjr0hpa8fhuRvZTRT6HDzBHpR7Q4AMGRm/lIRcy/+ytunLDm+e8jOW7xfcSayxD",
    "mzpAAAAAxvp6877brTo9ZfNqq8l0MbG75MLS9uDkfKYCA0UvXWEFSlNamSkhBk0k6HFg2jh8fDW13bySu4HkH6hAQQVEjQbd",
    "9uHXZaGT2cvhRs7reawctIXtX1s3kTqM9YV+/wCpCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkEBAAFAiBOAAAE",
    "AAkDAQAAAAAAAAAHBAIFAwEKDGDjFgAAAAAABgYAIGFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhAA==",
);

/// The same, signed by the fee payer too.
pub(super) const PAYMENT_V0_COSIGNED: &str = concat!(
    "AiY7uIYM8yYTb4w0wcogALulwwEoAoF4zmHYPZ05NJl5BC86egpbtqcb7kFEXPYD7bl3R+TJW/ZTY9dLEDNDXwzRqoJd/uxd",
    "MCj6pWua8aUO9VFlxN5wAGsVTQHjzVntAh61u4vt7HypB4f6cW+agqQAUfA/L+SiszGsjVwIRU4LgAIBBAiKiOPddAnxlf1S",
    "2y08ul1yymcJvx2UEhvzdIgBtA9vXIE5dw6ofRdfVqNUZsNMfszLjYqRtO43ol32D1uPybOUjETp04tB+SqkMwRAOxAkRbfc",
    "j4nLfZEMLTVLT/56fhO3u4T1/jPeFaQeWwjr0hpa8fhuRvZTRT6HDzBHpR7Q4AMGRm/lIRcy/+ytunLDm+e8jOW7xfcSayxD",
    "mzpAAAAAxvp6877brTo9ZfNqq8l0MbG75MLS9uDkfKYCA0UvXWEFSlNamSkhBk0k6HFg2jh8fDW13bySu4HkH6hAQQVEjQbd",
    "9uHXZaGT2cvhRs7reawctIXtX1s3kTqM9YV+/wCpCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkEBAAFAiBOAAAE",
    "AAkDAQAAAAAAAAAHBAIFAwEKDGDjFgAAAAAABgYAIGFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhAA==",
);

/// The same payment as a legacy message.
pub(super) const PAYMENT_LEGACY: &str = concat!(
    "AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABUi+kgOsud",
    "gY74UZVIPXXUL4nOiuA8CMeUG9xdVl3CURT+TrGFO1M1nSere9RW0r/pwCYIiNf+msGER08l2AYEAgEECIqI4910CfGV/VLb",
    "LTy6XXLKZwm/HZQSG/N0iAG0D29cgTl3Dqh9F19Wo1Rmw0x+zMuNipG07jeiXfYPW4/Js5SMROnTi0H5KqQzBEA7ECRFt9yP",
    "ict9kQwtNUtP/np+E7e7hPX+M94VpB5bCOvSGlrx+G5G9lNFPocPMEelHtDgAwZGb+UhFzL/7K26csOb57yM5bvF9xJrLEOb",
    "OkAAAADG+nrzvtutOj1l82qryXQxsbvkwtL24OR8pgIDRS9dYQVKU1qZKSEGTSTocWDaOHx8NbXdvJK7geQfqEBBBUSNBt32",
    "4ddloZPZy+FGzut5rBy0he1fWzeROoz1hX7/AKkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQQEAAUCIE4AAAQA",
    "CQMBAAAAAAAAAAcEAgUDAQoMYOMWAAAAAAAGBgAgYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE=",
);

/// A memo of 700 letters and the largest amount.
pub(super) const PAYMENT_LONG_MEMO: &str = concat!(
    "AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAADZOSaGDELA",
    "kOcDCFEDejdxgCnK4fj5my0AxjN7Rhd09xXDe4eTNa57dNuGomPdVY29vblWjxfaKNn0zzdWA9ICgAIBBAiKiOPddAnxlf1S",
    "2y08ul1yymcJvx2UEhvzdIgBtA9vXIE5dw6ofRdfVqNUZsNMfszLjYqRtO43ol32D1uPybOUjETp04tB+SqkMwRAOxAkRbfc",
    "j4nLfZEMLTVLT/56fhO3u4T1/jPeFaQeWwjr0hpa8fhuRvZTRT6HDzBHpR7Q4AMGRm/lIRcy/+ytunLDm+e8jOW7xfcSayxD",
    "mzpAAAAAxvp6877brTo9ZfNqq8l0MbG75MLS9uDkfKYCA0UvXWEFSlNamSkhBk0k6HFg2jh8fDW13bySu4HkH6hAQQVEjQbd",
    "9uHXZaGT2cvhRs7reawctIXtX1s3kTqM9YV+/wCpCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkEBAAFAiBOAAAE",
    "AAkDAQAAAAAAAAAHBAIFAwEKDP//////////BgYAvAViYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJi",
    "YmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJi",
    "YmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJi",
    "YmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJi",
    "YmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJi",
    "YmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJi",
    "YmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJi",
    "YmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJi",
    "YmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJi",
    "YmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJi",
    "YmJiYmJiYmJiYmJiAA==",
);

/// Creates the token account of the payer and transfers 7 units from the merchant to it.
pub(super) const WITHDRAWAL: &str = concat!(
    "Aqh/xNo4p6MK1vo7aG0tOPgS2uJdNwtLjsmvFDoRHRPplflWnIk2I1yKDUsOP0goCQedmsdQfwOVMGbRzofNIQGRhFH6XX3a",
    "Yf7F2Zyc8jjCm5rAMF0SpEHPCSj8jQnZprV4iSBQcxSV3Q/x+3LrXqlykEMy1ao0AUQs4R8OZFALgAIBBgqKiOPddAnxlf1S",
    "2y08ul1yymcJvx2UEhvzdIgBtA9vXO1JKMYo0cLG6ukDOJBZlWEpWSc6XGP5NjbBRhSshzfRjETp04tB+SqkMwRAOxAkRbfc",
    "j4nLfZEMLTVLT/56fhO3u4T1/jPeFaQeWwjr0hpa8fhuRvZTRT6HDzBHpR7Q4AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    "AAAAAAAAgTl3Dqh9F19Wo1Rmw0x+zMuNipG07jeiXfYPW4/Js5SMlyWPTiSJ8bs9ECkUjg2DC1oTmdr/EIQEjnvY2+n4WQMG",
    "Rm/lIRcy/+ytunLDm+e8jOW7xfcSayxDmzpAAAAAxvp6877brTo9ZfNqq8l0MbG75MLS9uDkfKYCA0UvXWEG3fbh12Whk9nL",
    "4UbO63msHLSF7V9bN5E6jPWFfv8AqQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJBAcABQJg6gAABwAJA+gDAAAA",
    "AAAABgYAAgUIBAkBAQkEAwgCAQoMBwAAAAAAAAAGAA==",
);

/// The payment with mint and destination in a lookup table.
pub(super) const PAYMENT_TABLES: &str = concat!(
    "AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB5OWIHlmeJ",
    "bghulm/Lk76CsMN8B2kSdGoncu9IlsBBkkMHsIG8p9xa2O4DJcrfWbaMjF7N23y4uaiWZo8XhDoPgAIBAwaKiOPddAnxlf1S",
    "2y08ul1yymcJvx2UEhvzdIgBtA9vXIE5dw6ofRdfVqNUZsNMfszLjYqRtO43ol32D1uPybOUjETp04tB+SqkMwRAOxAkRbfc",
    "j4nLfZEMLTVLT/56fhMDBkZv5SEXMv/srbpyw5vnvIzlu8X3EmssQ5s6QAAAAAVKU1qZKSEGTSTocWDaOHx8NbXdvJK7geQf",
    "qEBBBUSNBt324ddloZPZy+FGzut5rBy0he1fWzeROoz1hX7/AKkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQQD",
    "AAUCIE4AAAMACQMBAAAAAAAAAAUEAgcGAQoMYOMWAAAAAAAGBAAgYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWEB",
    "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIBAAEB",
);
