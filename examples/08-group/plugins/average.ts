import { reducer } from "aegis";

/** Takes the last number of each reply, because agents often write a few words first. */
export const average = reducer("average", (replies) => {
  const numbers = replies.map(({ text }) => Number(text.match(/\d+/g)?.at(-1) ?? 0));
  return numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
});
