import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "#/api/keys";
import { hideLocation, type Place, shareLocation } from "#/api/memory";
import { session } from "#/api/session";
import { ErrorNote } from "#/components/form/ErrorNote";
import { Section } from "#/components/form/Section";
import { Button } from "#/components/ui/button";
import { useT } from "#/i18n";
import { exactTime, shortTime } from "#/lib/format";
import { useSelf } from "#/lib/self";

/** Where the person is, for their own agents only: told when they press the button, until they take it back. */
export function LocationSection() {
  const t = useT();
  const queries = useQueryClient();
  const self = useSelf();
  const place = placeOf(self.location);
  const [denied, setDenied] = useState(false);
  const [looking, setLooking] = useState(false);
  const adopt = (location: Place | null) => {
    session.update({ ...self, location });
    queries.setQueryData(keys.me, { ...self, location });
  };
  // An answer that was asked for before must not bring back what was.
  const onMutate = () => queries.cancelQueries({ queryKey: keys.me });
  const share = useMutation({ mutationFn: shareLocation, onMutate, onSuccess: adopt });
  const hide = useMutation({ mutationFn: hideLocation, onMutate, onSuccess: () => adopt(null) });
  const find = () => {
    setDenied(false);
    setLooking(true);
    navigator.geolocation.getCurrentPosition(
      ({ coords }) => {
        setLooking(false);
        share.mutate({ latitude: coords.latitude, longitude: coords.longitude, accuracy: coords.accuracy });
      },
      () => {
        setLooking(false);
        setDenied(true);
      },
      { timeout: 20_000, maximumAge: 60_000 },
    );
  };
  return (
    <Section title={t("memory.place")} hint={t("memory.placeHint")}>
      {place && (
        <p className="mb-3 text-side">
          <span className="tabular-nums">
            {place.latitude.toFixed(4)}, {place.longitude.toFixed(4)}
          </span>{" "}
          <time dateTime={place.timestamp} title={exactTime(place.timestamp)} className="text-text-3">
            {shortTime(place.timestamp)}
          </time>
        </p>
      )}
      <div className="flex flex-wrap gap-2">
        <Button busy={looking || share.isPending} disabled={!("geolocation" in navigator)} onClick={find}>
          {t(place ? "memory.placeAgain" : "memory.placeShare")}
        </Button>
        {place && (
          <Button variant="quiet" busy={hide.isPending} onClick={() => hide.mutate()}>
            {t("memory.placeHide")}
          </Button>
        )}
      </div>
      {denied && (
        <p role="alert" className="mt-2 text-side text-bad-text">
          {t("memory.placeDenied")}
        </p>
      )}
      <ErrorNote error={share.error ?? hide.error} className="mt-3" />
    </Section>
  );
}

function placeOf(v: unknown): Place | null {
  const p = v as Partial<Place> | null | undefined;
  return p && typeof p.latitude === "number" && typeof p.longitude === "number" && typeof p.timestamp === "string" ? (p as Place) : null;
}
