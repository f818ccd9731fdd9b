//! Typed lines: filters of devices and times, and the messages about them.

use super::*;

const CAPTURE: &str = "captures/capped-3000.txt";

fn last_line(app: &mut App) -> String {
    lines(app, 120, 40).pop().unwrap()
}

#[test]
fn a_filter_that_is_not_a_regular_expression_is_named_with_the_reason() {
    let mut app = replay(CAPTURE);
    press(&mut app, "/loo(\r");
    let screen = lines(&mut app, 120, 40);
    let errors: Vec<&String> = screen
        .iter()
        .filter(|line| line.contains("'loo(' is not a regular expression: "))
        .collect();
    assert_eq!(
        errors.len(),
        2,
        "in the list and on the last line: {screen:#?}"
    );
    assert!(
        !screen.iter().any(|line| line.contains("no device matches")),
        "{screen:#?}"
    );
    press(&mut app, "/\x15nosuch\r");
    assert!(text(&mut app).contains("no device matches the filter"));
}

#[test]
fn enter_opens_only_a_device_of_the_list() {
    let mut app = replay(CAPTURE);
    draw(&mut app, 120, 40);
    for filter in ["nosuch", "loo("] {
        press(&mut app, &format!("/\x15{filter}\r\r"));
        assert_eq!(app.page, Page::List, "{filter}");
        draw(&mut app, 120, 40);
        press(&mut app, "\r");
        assert_eq!(app.page, Page::List, "{filter}");
    }
    press(&mut app, "/\x15loop\r\r");
    assert_eq!(app.page, Page::Detail);
    let listed = app.listed_names();
    assert!(app.selected.is_some_and(|id| listed.contains(&id)));
}

#[test]
fn an_error_goes_with_the_next_key() {
    for keys in ["b18:22:30\r", "0]", "$[", "w", "j"] {
        let mut app = replay(CAPTURE);
        press(&mut app, "bxyz\r");
        assert!(!last_line(&mut app).starts_with("q quit"), "an error");
        press(&mut app, keys);
        assert!(
            last_line(&mut app).starts_with("q quit"),
            "{keys:?}: {}",
            last_line(&mut app)
        );
    }
}
