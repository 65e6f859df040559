/** Turns that a client has not seen are counted up to this number. */
export const mostUnseen = 100;
