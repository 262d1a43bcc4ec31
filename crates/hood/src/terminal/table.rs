//! Columns.

use anyhow::Result;

use super::{Paint, Printer};

/// Between two columns.
const GAP: &str = "  ";

/// Rows of text under headings, each column as wide as its widest cell.
#[derive(Debug)]
pub(crate) struct Table {
    headings: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

// === impl Table ===

impl Table {
    pub(crate) fn new(headings: &[&'static str]) -> Self {
        Self { headings: headings.to_vec(), rows: Vec::new() }
    }

    /// Cells that hold text of a sandbox are escaped before.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// `paint` chooses a colour by column and cell.
    pub(crate) fn print(&self, printer: Printer, paint: impl Fn(usize, &str) -> Option<Paint>) -> Result<()> {
        let headings: Vec<String> = self.headings.iter().map(|heading| (*heading).to_owned()).collect();
        let widths = self.widths();
        printer.line(&laid_out(&headings, &widths, |_, text| printer.paint(Paint::Bold, text)))?;
        for row in &self.rows {
            let painted = |column, text: &str| match paint(column, text.trim_end()) {
                Some(colour) => printer.paint(colour, text),
                None => text.to_owned(),
            };
            printer.line(&laid_out(row, &widths, painted))?;
        }
        Ok(())
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = self.headings.iter().map(|heading| heading.chars().count()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        widths
    }
}

fn laid_out(cells: &[String], widths: &[usize], paint: impl Fn(usize, &str) -> String) -> String {
    // Nothing pads the last cell that holds anything: no spaces at the end of a line.
    let last = cells.iter().rposition(|cell| !cell.is_empty()).unwrap_or(0);
    let cells = cells.iter().take(last + 1).zip(widths).enumerate().map(|(column, (cell, width))| {
        let padded = if column == last { cell.clone() } else { format!("{cell:<width$}") };
        paint(column, &padded)
    });
    cells.collect::<Vec<_>>().join(GAP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(&["ID", "NAME"]);
        table.row(["long-id".into(), "a".into()]);
        table.row(["я".into(), "b".into()]);
        let widths = table.widths();
        assert_eq!(widths, [7, 4]);
        assert_eq!(laid_out(&table.rows[1], &widths, |_, text| text.to_owned()), "я        b");
    }
}
