// Rows of cells as spreadsheets put them on the clipboard: tabs between cells, quotes where they are needed.

/**
 * Return the rows of a text; a first row that names the columns is left out.
 * @param {string} text
 * @param {{ columns: { name: string }[] }} relation
 */
export function readRows(text, relation) {
  const rows = cellsOf(text, text.includes("\t") ? "\t" : ",").filter((row) => row.length > 1 || row[0] !== "");
  const hasHead = rows.length > 0 && isHead(rows[0], relation.columns);
  return { rows: hasHead ? rows.slice(1) : rows, hasHead };
}

/**
 * @param {string[]} row
 * @param {{ name: string }[]} columns
 */
function isHead(row, columns) {
  return row.length === columns.length && row.every((cell, place) => cell.trim() === columns[place].name);
}

/**
 * @param {string} text
 * @param {string} separator
 */
function cellsOf(text, separator) {
  /** @type {string[][]} */
  const rows = [[]];
  let cell = "";
  let isQuoted = false;
  const end = () => {
    rows.at(-1)?.push(cell);
    cell = "";
  };
  for (let place = 0; place < text.length; place += 1) {
    const letter = text[place];
    if (isQuoted && letter === '"' && text[place + 1] === '"') {
      cell += '"';
      place += 1;
    } else if (letter === '"' && (isQuoted || cell === "")) {
      isQuoted = !isQuoted;
    } else if (!isQuoted && letter === separator) {
      end();
    } else if (!isQuoted && (letter === "\n" || letter === "\r")) {
      if (letter === "\r" && text[place + 1] === "\n") place += 1;
      end();
      rows.push([]);
    } else {
      cell += letter;
    }
  }
  if (cell || rows.at(-1)?.length) end();
  else rows.pop();
  return rows;
}
