//! The providers that each product requires; products that are not sold require none.

use purser_actors::product::ProductLine;

use super::found::ConfigErrors;
use super::{Config, ProductsConfig};

/// Each sold product has its providers, and none is the sandbox's.
pub(super) fn check(config: &Config, found: &mut ConfigErrors) {
    for (key, outside) in config.providers.all() {
        let sold = products_that_need(config, key);
        let reason = format!(
            "production needs your own: products.{} cannot be sold without it. Set it, or set available = false",
            sold.join(", products.")
        );
        found.require(
            !outside.url.is_empty() || sold.is_empty(),
            format!("{key}.url"),
            &reason,
        );
    }
}

/// The sold products that require this provider, by its name in the settings.
fn products_that_need(config: &Config, provider: &str) -> Vec<&'static str> {
    let products = &config.products;
    let in_other_currencies = |line: &ProductLine| {
        let currencies = &products.of(*line).currencies;
        // A gift card has the currency of the card itself.
        currencies.is_empty() || currencies.iter().any(|currency| *currency != "USD")
    };
    // Bank accounts and the merchant search are not products: without a provider they are disabled.
    let needs = |line: &ProductLine| match provider {
        "providers.rates" => in_other_currencies(line),
        _ => ProductsConfig::needs(*line, &config.providers)
            .iter()
            .any(|(name, _)| *name == provider),
    };
    let sold = ProductLine::ALL
        .into_iter()
        .filter(|line| products.of(*line).available && needs(line));
    sold.map(ProductLine::name).collect()
}
