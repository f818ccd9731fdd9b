//! `blkstat report` on the command line. What a browser makes of a page is tested in `tests/browser`.

mod files;
mod page;
mod picture;
