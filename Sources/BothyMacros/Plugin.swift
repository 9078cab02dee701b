import SwiftCompilerPlugin
import SwiftSyntaxMacros

/// The compiler plug-in. Lists the macros that `Bothy` declares.
@main struct BothyMacrosPlugin: CompilerPlugin {
  let providingMacros: [any Macro.Type] = [
    EntityMacro.self, FieldMarkerMacro.self, SettingsGroupMacro.self,
  ]
}
