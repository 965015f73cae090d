import { Dialog } from "#/components/ui/dialog";
import { Kbd } from "#/components/ui/kbd";
import { type Key, useT } from "#/i18n";
import { setShell, useShell } from "./ui-state";

const groups: { title: Key; rows: { what: Key; keys: string[][] }[] }[] = [
  {
    title: "keys.group.go",
    rows: [
      { what: "keys.switch", keys: [["Mod", "K"]] },
      { what: "keys.new", keys: [["Mod", "Shift", "O"]] },
      { what: "keys.nextRoom", keys: [["Alt", "↑↓"]] },
      { what: "keys.nextUnread", keys: [["Alt", "Shift", "↑↓"]] },
      { what: "keys.sidebar", keys: [["Mod", "B"]] },
      { what: "keys.back", keys: [["Esc"]] },
      { what: "keys.help", keys: [["?"]] },
    ],
  },
  {
    title: "keys.group.room",
    rows: [
      { what: "keys.details", keys: [["Mod", "I"]] },
      { what: "keys.walk", keys: [["↑↓"]] },
      { what: "keys.reply", keys: [["R"]] },
      { what: "keys.copy", keys: [["C"]] },
      { what: "keys.deleteMessage", keys: [["Delete"]] },
      { what: "keys.menu", keys: [["Enter"]] },
    ],
  },
  {
    title: "keys.group.decide",
    rows: [
      { what: "keys.decisions", keys: [["J"], ["K"]] },
      { what: "keys.approve", keys: [["A"]] },
      { what: "keys.deny", keys: [["D"]] },
      { what: "keys.change", keys: [["E"]] },
      { what: "keys.pick", keys: [["1–9"]] },
    ],
  },
  {
    title: "keys.group.tasks",
    rows: [
      { what: "keys.tasks", keys: [["J"], ["K"]] },
      { what: "keys.taskColumns", keys: [["H"], ["L"]] },
      { what: "keys.taskNew", keys: [["N"]] },
    ],
  },
  {
    title: "keys.group.write",
    rows: [
      { what: "keys.compose", keys: [["/"]] },
      { what: "keys.send", keys: [["Enter"]] },
      { what: "keys.newline", keys: [["Shift", "Enter"]] },
      { what: "keys.mention", keys: [["@"]] },
    ],
  },
];

/** The map of keys, on `?`. */
export function Shortcuts() {
  const t = useT();
  const open = useShell("shortcuts");
  return (
    <Dialog open={open} onOpenChange={(o) => setShell({ shortcuts: o })} title={t("keys.title")} width="lg">
      <div className="gap-x-10 pb-1 sm:columns-2">
        {groups.map((group) => (
          <section key={group.title} className="mb-5 break-inside-avoid">
            <h3 className="mb-1.5 font-medium text-[13px] text-text-3">{t(group.title)}</h3>
            <dl>
              {group.rows.map((row) => (
                <div key={row.what} className="flex min-h-8 items-center gap-3">
                  <dt className="min-w-0 flex-1 text-side">{t(row.what)}</dt>
                  <dd className="flex shrink-0 items-center gap-1.5">
                    {row.keys.map((keys) => (
                      <Kbd key={keys.join()} keys={keys} />
                    ))}
                  </dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
