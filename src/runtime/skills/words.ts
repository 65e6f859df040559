/** Words as skills and messages are compared by: whole, without endings, without those that say nothing. */

const empty = new Set(
  (
    "a about after all also am an and any are as ask at be because been before being but by can could did do does doing " +
    "done each for from get give go had has have having help her here him his how i if in into is it its just let like " +
    "make may me might more most must my need no not now of on once one only or other our out over own per please " +
    "provide same see she should show so some such take than that the their them then there these they this those " +
    "through to too under until up us use used user using very via want was we were what when where whether which " +
    "while who why will with within without would yes you your skill skills task tasks agent agents"
  ).split(" "),
);

/** No message needs more to be understood, and none may take long. */
const mostCharacters = 20_000;

/** Distinct words in the order they come. */
export function wordsOf(text: string): string[] {
  const found = new Set<string>();
  const lower = text.slice(0, mostCharacters).normalize("NFKC").toLowerCase();
  for (const [word] of lower.matchAll(/[\p{L}\p{N}][\p{L}\p{N}\p{M}+#]*/gu)) {
    if (isUnspaced(word)) for (const part of pairsOf(word)) found.add(part);
    else if (!empty.has(word)) {
      const stem = stemOf(word);
      if (stem.length > 1 && !empty.has(stem)) found.add(stem);
    }
  }
  return [...found];
}

/** Light on purpose: `deploys`, `deployed` and `deploying` meet, and hardly anything meets by mistake. */
function stemOf(word: string): string {
  if (word.length <= 3 || /\d/.test(word)) return word;
  if (word.endsWith("ies") && word.length > 4) return `${word.slice(0, -3)}y`;
  if (/(?:ss|x|ch|sh)es$/.test(word)) return word.slice(0, -2);
  if (word.endsWith("s") && !/(?:ss|us|is)$/.test(word)) return stemVerb(word.slice(0, -1));
  return stemVerb(word);
}

function stemVerb(word: string): string {
  for (const ending of ["ing", "ed"])
    if (word.endsWith(ending) && word.length - ending.length >= 4) return undouble(word.slice(0, -ending.length));
  return word.endsWith("e") && word.length > 4 ? word.slice(0, -1) : word;
}

/** `planning` is about a plan. */
function undouble(stem: string): string {
  return /([bdgmnprt])\1$/.test(stem) ? stem.slice(0, -1) : stem;
}

/** Chinese, Japanese, Thai and the like put no blanks between words. */
function isUnspaced(word: string): boolean {
  return /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u.test(word);
}

function pairsOf(word: string): string[] {
  const characters = [...word];
  if (characters.length < 3) return [word];
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`);
}
