import SwiftCompilerPlugin
import SwiftSyntaxMacros
@main struct P: CompilerPlugin { let providingMacros: [any Macro.Type] = [] }
