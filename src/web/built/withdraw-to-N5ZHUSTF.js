import{a}from"/assets/chunk-SHXPN45M.js";import"/assets/chunk-LV3TLECR.js";import"/assets/chunk-OYVHDSM4.js";import"/assets/chunk-3YAME6XE.js";export{a as Withdraw};
