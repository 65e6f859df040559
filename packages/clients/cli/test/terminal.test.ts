import { describe, expect, it } from "vitest";
import { startFolder } from "../src/terminal/terminal.ts";

describe("the folder a command works in", () => {
  it("is where npm was called, but only for what npm itself started", () => {
    const env = { INIT_CWD: "/home/me/app", npm_package_json: "/opt/aegis/package.json" };
    expect(startFolder("/opt/aegis", env)).toBe("/home/me/app");
    expect(startFolder("/elsewhere", env)).toBe("/elsewhere");
    expect(startFolder("/opt/aegis", {})).toBe("/opt/aegis");
  });
});
