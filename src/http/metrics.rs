//! OpenMetrics text. In: families with closed label sets and a function that gives each series its value. Out: a page that
//! names every series every time, zero included, so none appears or vanishes with what happened (F-202, F-203).
//!
//! A label's words are `&'static str` known before the values are: nothing a document, source or target said can become one.
//! Values are read when the page is made, never counted up and down beside the truth (F-201).
//!
//! Not here: which families there are (daemon/, gateway/).

use std::fmt::Write;

/// One label and all the words it can take.
#[derive(Debug, Clone)]
pub struct Axis {
    /// The label's name.
    pub label: &'static str,
    /// Its words.
    pub words: Vec<&'static str>,
}

/// What a family's values do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    /// Only grows, until the process restarts; printed with `_total`.
    Counter,
    /// Goes up and down.
    Gauge,
}

/// One family: a series for each combination of its labels' words.
#[derive(Debug, Clone)]
pub struct Family {
    /// Without `_total`; ends in the unit if there is one: `lockgate_lag_seconds`.
    pub name: &'static str,
    /// One sentence.
    pub help: &'static str,
    /// What its values do.
    pub behaviour: Behaviour,
    /// For example `seconds`, `bytes`.
    pub unit: Option<&'static str>,
    /// Its labels; none makes one series.
    pub axes: Vec<Axis>,
}

impl Family {
    /// A family without a unit.
    pub fn new(name: &'static str, help: &'static str, behaviour: Behaviour, axes: Vec<Axis>) -> Family {
        Family {
            name,
            help,
            behaviour,
            unit: None,
            axes,
        }
    }
}

/// A value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// Exact.
    Whole(i64),
    /// Anything else.
    Fraction(f64),
}

/// A page in the making.
#[derive(Debug, Default)]
pub struct Page {
    text: String,
}

impl Page {
    /// An empty page.
    pub fn new() -> Page {
        Page::default()
    }
    /// Adds a family; `value` is asked once for each combination of words, in the axes' order.
    pub fn family(&mut self, family: &Family, mut value: impl FnMut(&[&'static str]) -> Number) {
        let (kind, suffix) = match family.behaviour {
            Behaviour::Counter => ("counter", "_total"),
            Behaviour::Gauge => ("gauge", ""),
        };
        let name = family.name;
        self.line(&format!("# TYPE {name} {kind}"));
        if let Some(unit) = family.unit {
            self.line(&format!("# UNIT {name} {unit}"));
        }
        self.line(&format!("# HELP {name} {}", escaped(family.help)));
        for words in combinations(&family.axes) {
            let labels: Vec<String> = family
                .axes
                .iter()
                .zip(&words)
                .map(|(axis, word)| format!("{}=\"{}\"", axis.label, escaped(word)))
                .collect();
            let labels = if labels.is_empty() {
                String::new()
            } else {
                format!("{{{}}}", labels.join(","))
            };
            let number = printed(value(&words));
            self.line(&format!("{name}{suffix}{labels} {number}"));
        }
    }
    /// The finished page.
    pub fn finish(mut self) -> String {
        self.line("# EOF");
        self.text
    }
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }
}

fn combinations(axes: &[Axis]) -> Vec<Vec<&'static str>> {
    let mut all: Vec<Vec<&'static str>> = vec![Vec::new()];
    for axis in axes {
        all = all
            .into_iter()
            .flat_map(|before| {
                axis.words.iter().map(move |word| {
                    let mut with = before.clone();
                    with.push(*word);
                    with
                })
            })
            .collect();
    }
    all
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            c => out.push(c),
        }
    }
    out
}

fn printed(number: Number) -> String {
    let mut out = String::new();
    let wrote = match number {
        Number::Whole(value) => write!(out, "{value}"),
        Number::Fraction(value) if value.is_nan() => write!(out, "NaN"),
        Number::Fraction(value) if value.is_infinite() => {
            write!(out, "{}", if value > 0.0 { "+Inf" } else { "-Inf" })
        }
        Number::Fraction(value) => write!(out, "{value}"),
    };
    debug_assert!(wrote.is_ok(), "writing to a String cannot fail");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f202_every_series_is_there_with_zero_and_the_page_ends() {
        let jobs = Family {
            name: "lockgate_jobs",
            help: "Jobs by state.",
            behaviour: Behaviour::Gauge,
            unit: None,
            axes: vec![
                Axis {
                    label: "kind",
                    words: vec!["save", "delete"],
                },
                Axis {
                    label: "state",
                    words: vec!["READY", "FAILED"],
                },
            ],
        };
        let lag = Family {
            name: "lockgate_lag_seconds",
            help: "A \"quoted\"\nhelp.",
            behaviour: Behaviour::Counter,
            unit: Some("seconds"),
            axes: vec![],
        };
        let mut page = Page::new();
        page.family(&jobs, |words| {
            Number::Whole(i64::from(words == ["delete", "READY"]))
        });
        page.family(&lag, |_| Number::Fraction(0.25));
        assert_eq!(
            page.finish(),
            "# TYPE lockgate_jobs gauge\n# HELP lockgate_jobs Jobs by state.\n\
             lockgate_jobs{kind=\"save\",state=\"READY\"} 0\nlockgate_jobs{kind=\"save\",state=\"FAILED\"} 0\n\
             lockgate_jobs{kind=\"delete\",state=\"READY\"} 1\nlockgate_jobs{kind=\"delete\",state=\"FAILED\"} 0\n\
             # TYPE lockgate_lag_seconds counter\n# UNIT lockgate_lag_seconds seconds\n\
             # HELP lockgate_lag_seconds A \\\"quoted\\\"\\nhelp.\nlockgate_lag_seconds_total 0.25\n# EOF\n"
        );
    }

    #[test]
    fn odd_numbers_print_as_the_format_wants_them() {
        assert_eq!(printed(Number::Fraction(f64::NAN)), "NaN");
        assert_eq!(printed(Number::Fraction(f64::NEG_INFINITY)), "-Inf");
        assert_eq!(printed(Number::Whole(i64::MAX)), "9223372036854775807");
    }
}
