//! Tables, as text.

use comfy_table::{CellAlignment, Table, presets};

/// A table whose columns but the first `left` are numbers.
pub fn table<const N: usize>(heads: [&str; N], left: usize, rows: Vec<[String; N]>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(heads);
    for row in rows {
        table.add_row(row);
    }
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if i >= left {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
}
