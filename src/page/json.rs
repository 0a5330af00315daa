//! JSON as pages show it.

/// The same JSON with one member a line. Members keep their order, and numbers their text.
pub(crate) fn indented(json: &str) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let (mut depth, mut in_text, mut is_escaped) = (0_usize, false, false);
    let mut characters = json.chars().peekable();
    let new_line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth));
    };
    while let Some(c) = characters.next() {
        if in_text {
            out.push(c);
            in_text = is_escaped || c != '"';
            is_escaped = c == '\\' && !is_escaped;
            continue;
        }
        match c {
            '"' => {
                in_text = true;
                out.push(c);
            }
            '{' | '[' => {
                out.push(c);
                match characters.peek() {
                    Some('}' | ']') => out.extend(characters.next()),
                    _ => {
                        depth += 1;
                        new_line(&mut out, depth);
                    }
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            c if c.is_whitespace() => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    // Checks: only the space between members changes, also around texts that contain brackets and quotes.
    #[test]
    fn indentation_keeps_the_json() {
        let json = r#"{"a":[1.50,{"b":"x, {\"y\": [\\"}],"c":{},"d":[],"e":null}"#;
        let shown = indented(json);
        let read = |text: &str| text.parse::<serde_json::Value>().unwrap();
        assert_eq!(read(&shown), read(json));
        assert!(
            shown.contains("1.50") && shown.contains("\"c\": {}") && shown.lines().count() == 11,
            "{shown}"
        );
    }
}
