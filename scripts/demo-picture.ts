/**
 * Makes docs/images/demo.svg, the moving picture of the README, from a real run of `aegis demo`. Run it after a change of
 * the demo: `npx tsdown && node scripts/demo-picture.ts`.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** A line of output, and the milliseconds from the start of the picture to the moment when it appears. */
type Shown = { text: string; at: number };

const root = fileURLToPath(new URL("..", import.meta.url));
const target = join(root, "docs", "images", "demo.svg");
const screen = { columns: 100, rows: 26, charWidth: 7.85, lineHeight: 18, margin: 14, bar: 26 };
/** A reader needs time for a line, and no picture waits as long as a start of a daemon takes. */
const [shortest, readable, longest, atEnd] = [150, 500, 1_200, 5_000];
/** Paths and numbers that differ from run to run. */
const volatile: [RegExp, string][] = [
  [/\/\S*aegis-demo-\w+/g, "/tmp/demo"],
  [/http:\/\/127\.0\.0\.1:\d+/g, "http://127.0.0.1:4100"],
];

async function record(): Promise<Shown[]> {
  const child = spawn(process.execPath, [join(root, "dist", "cli.js"), "demo"], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, NO_COLOR: "1", COLUMNS: String(screen.columns) },
  });
  const ended = once(child, "close");
  const lines: Shown[] = [];
  let [rest, before, at] = ["", performance.now(), 400];
  child.stdout.setEncoding("utf8");
  for await (const chunk of child.stdout) {
    const pieces = `${rest}${chunk}`.split("\n");
    rest = pieces.pop() ?? "";
    for (const piece of pieces) {
      const least = styleOf(piece) === "said" ? shortest : readable;
      at += Math.round(Math.min(longest, Math.max(least, performance.now() - before)));
      before = performance.now();
      lines.push({ text: volatile.reduce((text, [from, to]) => text.replaceAll(from, to), piece), at });
    }
  }
  await ended;
  if (child.exitCode !== 0) throw new Error(`aegis demo ended with exit code ${child.exitCode}`);
  return lines;
}

function styleOf(text: string): string {
  if (/^\d\. /.test(text)) return "step";
  if (/^ *kill -9/.test(text)) return "kill";
  if (/^All \d+ steps/.test(text)) return "good";
  return /^ +[│]/.test(text) ? "said" : "text";
}

const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

function svg(lines: readonly Shown[]): string {
  const { columns, rows, charWidth, lineHeight, margin, bar } = screen;
  const width = Math.ceil(columns * charWidth + 2 * margin);
  const height = rows * lineHeight + 2 * margin + bar;
  const total = (lines.at(-1)?.at ?? 0) + atEnd;
  const percent = (at: number) => ((100 * at) / total).toFixed(2);
  const scroll = (count: number) => -Math.max(0, count - rows) * lineHeight;
  const appear = lines.map(
    ({ at }, index) => `@keyframes l${index}{0%,${percent(at)}%{opacity:0}${percent(at + 1)}%,100%{opacity:1}}`,
  );
  const steps = lines.map(({ at }, index) => `${percent(at)}%{transform:translateY(${scroll(index + 1)}px)}`);
  const text = lines.map(
    ({ text: said }, index) =>
      `<text class="${styleOf(said)}" y="${index * lineHeight}" style="animation-name:l${index}">${escaped(said)}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="aegis demo in a terminal">
<style>
text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre;fill:#d6dbe3;animation:${total}ms step-end infinite}
.step{fill:#7cc4ff;font-weight:700}.kill{fill:#ff8a80;font-weight:700}.good{fill:#8fe0a0;font-weight:700}.said{fill:#aab3c0}
.all{transform:translateY(${scroll(lines.length)}px);animation:scroll ${total}ms step-end infinite}
${appear.join("\n")}
@keyframes scroll{0%{transform:translateY(0)}${steps.join("")}100%{transform:translateY(${scroll(lines.length)}px)}}
@media (prefers-reduced-motion:reduce){text,.all{animation:none}}
</style>
<rect width="${width}" height="${height}" rx="8" fill="#14181f"/>
<text x="${margin}" y="${bar - 6}" style="animation:none;fill:#8b95a5">$ aegis demo</text>
<svg x="${margin}" y="${bar + margin / 2}" width="${width - 2 * margin}" height="${rows * lineHeight + 6}"><g transform="translate(0 ${lineHeight - 4})"><g class="all">
${text.join("\n")}
</g></g></svg>
</svg>
`;
}

await mkdir(dirname(target), { recursive: true });
await writeFile(target, svg(await record()));
process.stdout.write(`wrote ${target}\n`);
