import{a}from"/assets/chunk-5PRKZTMS.js";import"/assets/chunk-XD3O4WWK.js";import"/assets/chunk-IN55EAJZ.js";export{a as RecoveryNote};
