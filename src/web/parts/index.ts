// The parts of all web apps. Pages import from here.

export { ApiFailure, Exact, type PostOptions, api, failure, frozen, newKey, signedOut, unauthorized, withQuery } from "./api";
export { Button, type ButtonProps, OutLink, safeHref } from "./button";
export { classes } from "./classes";
export { Connection, StaleBar } from "./connection";
export { Confirm, type ConfirmProps, Dialog, type DialogProps } from "./dialog";
export { Check, ErrorLine, Field, type FieldProps, MoneyField, Select, amountProblem, fieldErrors } from "./fields";
export { Avatar, Icon, type IconName, Mark } from "./icon";
export { CopyLine, Id, copy, short } from "./id";
export { type Shortcut, addShortcuts } from "./keys";
export { lazy } from "./lazy";
export { type Loaded, useLoaded } from "./load";
export { Menu, type MenuProps } from "./menu";
export { Meter, type MeterProps } from "./meter";
export { Amount, type AmountProps, type AmountValue, BigAmount, type MoneyOptions, compare, decimal, isZero, less, money, share, sum, units } from "./money";
export { Empty, KeyValue, Note, PageHead, Panel, type PanelProps, Shade, Skeleton } from "./panel";
export { PasskeyStep, addPasskey, confirmIt, hasPasskeys, passkeyPaths, signInWithPasskey } from "./passkey";
export { type PageProps, type PageRow, Pages, navigate, setQuery, startRouter, useRoute } from "./router";
export { type Begun, type Bought, type Charge, type Said, actorOf, begunBy, boughtWords, byWords, pageOf, productWords, sentence, sentenceText, thingOf, withBeginning } from "./sentences";
export { type AppName, type Count, type Crumb, PublicFrame, Shell, type ShellProps, ThemeChoice, frame } from "./shell";
export { Status, type StatusKind, StatusTag, type Tone, statusOf } from "./status";
export { Log, type LogLine, Route, type Stop, type StopState } from "./stops";
export { type Connection as ConnectionState, type StreamEvent, canDecide, connection, onEnd, onEvent, onGap, since, stream } from "./stream";
export { type Column, type Fold, Table } from "./table";
export { Segments, Tabs } from "./tabs";
export { Time, ago, clock, clockSeconds, day, dayKey, followClock, followEvent, fullTime, now, present, span, until } from "./time";
export { type Theme, setTheme, theme } from "./theme";
export { complain, toast } from "./toast";
