import { describe, expect, it } from "vitest";
import type { TaskEvent } from "#/api/types";
import { foldStep, liveSteps, runSteps } from "./steps";

let n = 0;
const line = (kind: string, note = ""): TaskEvent => ({ id: n++, kind, note, insertedAt: "" });

describe("T1: the steps of a run", () => {
  it("keeps the newest word of a run for whoever comes later, until the run has ended", () => {
    expect(foldStep("task_progress", { taskId: "t", currentStep: "Counting" })).toBe(true);
    expect(foldStep("task_progress", { taskId: "t", currentStep: "Counting" })).toBe(false);
    expect(foldStep("task_progress", { taskId: "t", currentStep: "" })).toBe(false);
    expect(foldStep("task_updated", { taskId: "t", working: true })).toBe(false);
    expect(liveSteps.get().get("t")).toBe("Counting");
    expect(foldStep("task_completed", { taskId: "t" })).toBe(true);
    expect(liveSteps.get().has("t")).toBe(false);
  });

  it("shows the newest steps since the run was accepted, oldest first", () => {
    const history = [line("step", "c"), line("start"), line("step", "b"), line("accept"), line("requeue"), line("step", "a")];
    expect(runSteps(history).map((e) => e.note)).toEqual(["b", "c"]);
    expect(runSteps(history, 1).map((e) => e.note)).toEqual(["c"]);
  });
});
