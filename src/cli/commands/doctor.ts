/** `aegis doctor`: looks at everything Aegis depends on and says how to repair what is wrong. */
import { findProjectRoot } from "../../lib/daemon-file.ts";
import { exitCodes } from "../context.ts";
import { type Check, createChecks, type Finding } from "../doctor/checks.ts";
import { createStyle, type Style } from "../format/style.ts";
import { plural } from "../format/text.ts";
import type { Terminal } from "../terminal.ts";

type Reported = Omit<Finding, "repair"> & { check: string; repaired: boolean };

export async function doctor(cx: Terminal, args: { fix: boolean }): Promise<number> {
  const style = createStyle(cx.color);
  const root = findProjectRoot(cx.cwd);
  const reports: Reported[] = [];
  for (const check of createChecks(root, cx.env)) {
    for (const report of await examine(check, args.fix)) {
      reports.push(report);
      if (!cx.json) for (const line of reportLines(report, style)) cx.print(line);
    }
  }
  const failed = reports.filter((report) => report.level === "fail").length;
  const warned = reports.filter((report) => report.level === "warn").length;
  if (cx.json) cx.printJson({ ok: failed === 0, project: root, checks: reports });
  else {
    cx.print("");
    if (failed > 0) cx.print(style.red(`${plural(failed, "check")} failed.`));
    else cx.print(warned > 0 ? `Nothing is broken; ${plural(warned, "warning")}.` : style.green("All is well."));
  }
  return failed === 0 ? exitCodes.ok : exitCodes.failed;
}

/** A check that cannot be made has failed: silence would pass for health. */
async function examine(check: Check, fix: boolean): Promise<Reported[]> {
  let findings: Finding[];
  try {
    findings = await check.run();
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    findings = [{ level: "fail", detail, fix: null }];
  }
  return Promise.all(
    findings.map(async ({ repair, ...finding }): Promise<Reported> => {
      if (!fix || repair === undefined) {
        return { check: check.name, ...finding, repaired: false };
      }
      const detail = await repair();
      return { check: check.name, level: "ok", detail, fix: null, repaired: true };
    }),
  );
}

function reportLines(report: Reported, style: Style): string[] {
  const marks = {
    ok: style.green("ok  "),
    none: style.dim("-   "),
    warn: style.yellow("warn"),
    fail: style.red("FAIL"),
  };
  const [first = "", ...more] = report.detail.split("\n");
  return [
    `${marks[report.level]}  ${report.check.padEnd(10)}  ${first}`,
    ...more.map((line) => `${" ".repeat(18)}${line}`),
    ...(report.fix === null ? [] : [`${" ".repeat(18)}${style.dim(report.fix)}`]),
  ];
}
