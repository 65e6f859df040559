/** Bounds on the memory that drivers use. */

/**
 * The longest text, in characters, that a driver assembles from pieces. It exceeds what is ever stored of a text, so
 * that the turn's recorder truncates it and reports that.
 */
export const longestText = 2 * 1024 * 1024;

/** The longest tool result, in characters, that a model receives. */
export const longestToolOutput = 256 * 1024;
