import { expect, test } from "vitest";
import { childEnv } from "../src/child-env.ts";

const env = { PATH: "/bin", LC_ALL: "C", HTTPS_PROXY: "p", SECRET: "s", MY_KEY: "k", MY_OTHER: "o", GONE: undefined };

test("a child gets what any program needs and nothing else", () => {
  expect(childEnv(env, [])).toEqual({ PATH: "/bin", LC_ALL: "C", HTTPS_PROXY: "p" });
});

test("a driver lists further names, whole or by prefix, and extra values win", () => {
  expect(childEnv(env, ["MY_*", "GONE"], { PATH: "/opt", MY_OTHER: undefined })).toEqual({
    PATH: "/opt",
    LC_ALL: "C",
    HTTPS_PROXY: "p",
    MY_KEY: "k",
    MY_OTHER: "o",
  });
});
