import { describe, expect, it } from "vitest";
import { columns } from "../src/format/columns.ts";
import { logLine, logProblem } from "../src/format/log-line.ts";
import { createStyle } from "../src/format/style.ts";
import { bytes, displayWidth, dollars, oneLine, plainText, truncate, wrap } from "../src/format/text.ts";
import { duration, parseDuration, relativeTime } from "../src/format/time.ts";

const style = createStyle(false);

describe("text for a terminal", () => {
  it("takes what an agent could drive the terminal with", () => {
    expect(plainText("a\u001b[2Jb\u001b]0;title\u0007c\u0007\u009b31md\r\n\te")).toBe("abcd\n\te");
    expect(oneLine("  two\nlines\u001b[1m ")).toBe("two lines");
  });

  it("measures and cuts by what is seen", () => {
    expect(displayWidth("\u001b[31mred\u001b[39m")).toBe(3);
    expect(displayWidth("日本e\u0301")).toBe(5);
    expect(truncate("日本語テスト", 7)).toBe("日本語…");
    expect(truncate("short", 5)).toBe("short");
  });

  it("breaks lines between words", () => {
    expect(wrap("one two three\n\n  four", 8)).toEqual(["one two", "three", "", "  four"]);
    expect(wrap("unbreakable x", 4)).toEqual(["unbreakable", "x"]);
  });

  it("says amounts of money, also small ones", () => {
    const said = [0, 0.0004, 0.00123, 0.01, 1.239, 12].map(dollars);
    expect(said).toEqual(["$0.00", "$0.0004", "$0.0012", "$0.01", "$1.24", "$12.00"]);
  });

  it("says sizes in units", () => {
    expect([bytes(0), bytes(999), bytes(1500), bytes(250_000_000)]).toEqual(["0 B", "999 B", "1.5 KB", "250 MB"]);
  });
});

describe("times", () => {
  it("tells ages in the largest unit that fits", () => {
    const now = Date.UTC(2026, 5, 15, 12);
    const ages = [1_000, 30_000, 5 * 60_000, 3 * 3_600_000, 2 * 86_400_000, 30 * 86_400_000];
    expect(ages.map((age) => relativeTime(now - age, now))).toEqual([
      "just now",
      "30s ago",
      "5m ago",
      "3h ago",
      "2d ago",
      "2026-05-16",
    ]);
    expect(relativeTime(now + 90_000, now)).toBe("in 1m");
    expect(duration(850)).toBe("850ms");
  });

  it.each([
    ["90", 90_000],
    ["1.5m", 90_000],
    ["250ms", 250],
    ["2h", 7_200_000],
    ["0", null],
    ["-1s", null],
    ["5 days", null],
    ["48h", null],
  ])("reads %s", (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });
});

describe("columns", () => {
  const cells = (...texts: string[]) => texts.map((text) => ({ text }));

  it("aligns wide characters and cuts only the last column", () => {
    const lines = columns(
      cells("A", "B", "C"),
      [cells("日本", "x", "a rather long text"), cells("abcd", "yy", "")],
      20,
    );
    expect(lines).toEqual(["A     B   C", "日本  x   a rather…", "abcd  yy"]);
  });

  it("cuts the flexible column, and leaves out the empty columns and then those of least value of a narrow line", () => {
    const header = [
      { text: "TITLE", flexible: true as const },
      { text: "ONE", spare: 1 },
      { text: "TWO", spare: 2 },
      { text: "EMPTY", spare: 0 },
      { text: "ID" },
    ];
    const rows = [cells("a title that is too long for a narrow line", "first", "second", "-", "x-1")];
    expect(columns(header, rows, 70)[1]).toBe("a title that is too long for a narrow line  first  second  -      x-1");
    expect(columns(header, rows, 55)).toEqual([
      "TITLE                                ONE    TWO     ID",
      "a title that is too long for a nar…  first  second  x-1",
    ]);
    expect(columns(header, rows, 44)[1]).toBe("a title that is too long for a…   first  x-1");
  });

  it("paints without shifting", () => {
    const painted = columns(
      [{ text: "A" }, { text: "B" }],
      [[{ text: "x", paint: createStyle(true).red }, { text: "y" }]],
      80,
    );
    expect(painted[1]).toBe("\u001b[31mx\u001b[39m  y");
  });
});

describe("the log", () => {
  it("shows records as lines and leaves the rest as it is", () => {
    const line = logLine(
      '{"level":"warn","time":"2026-01-01T00:00:00.000Z","msg":"slow","ms":5,"err":{"message":"boom"}}',
      style,
    );
    expect(line).toMatch(/^\d\d:\d\d:\d\d warn {2}slow ms=5 boom$/);
    expect(logLine("    at main.ts:5", style)).toBe("    at main.ts:5");
    expect(logLine('{"torn', style)).toBe('{"torn');
  });

  it("finds what went wrong", () => {
    expect(logProblem('{"level":"info","msg":"fine"}')).toBeNull();
    expect(logProblem('{"level":50,"msg":"bad","err":{"message":"disk"}}')).toBe("bad: disk");
    expect(logProblem("aegis: no such agent")).toBe("aegis: no such agent");
  });
});
