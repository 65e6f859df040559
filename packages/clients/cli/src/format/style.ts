/** Colours for terminals. Without colour every style returns its text unchanged. */

export type Style = Record<"bold" | "dim" | "red" | "green" | "yellow" | "cyan", (text: string) => string>;

const escapeCode = "\u001b";
/** The sequences that styles write. None of them hides text or moves the cursor. */
export const styleSequence = new RegExp(`(${escapeCode}\\[(?:1|2|22|31|32|33|36|39)m)`);

export function createStyle(color: boolean): Style {
  const wrap = (on: number, off: number) => (text: string) =>
    color && text !== "" ? `\u001b[${on}m${text}\u001b[${off}m` : text;
  return {
    bold: wrap(1, 22),
    dim: wrap(2, 22),
    red: wrap(31, 39),
    green: wrap(32, 39),
    yellow: wrap(33, 39),
    cyan: wrap(36, 39),
  };
}
