// placeholder: deleted by the module's first file
