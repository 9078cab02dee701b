import BothyMacros
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacrosGenericTestSupport
import Testing

private let settingsMacro = [
  "SettingsGroup": MacroSpec(
    type: SettingsGroupMacro.self, conformances: ["SettingsGroup", "HostedSettingsGroup"])
]

@Suite("The code that @SettingsGroup writes", .timeLimit(.minutes(5))) struct SettingsGroupExpansionTests {
  @Test("A group expands to the expected members") func expansion() {
    expectExpansion(
      """
      @SettingsGroup("Locale", in: home, version: 2) public struct LocaleSettings {
        public var language = "en"
        @Merge(.counter) public var visits = 0
      }
      """,
      """
      public struct LocaleSettings {
        public var language = "en"
        @Merge(.counter) public var visits = 0

        nonisolated public init() {
        }

        nonisolated public static var groupName: String {
          "Locale"
        }

        nonisolated public static var version: Int {
          2
        }

        nonisolated public static let fields: [Bothy.FieldSchema] = [
          .field("language", String.self),
          .field("visits", Int.self, merge: .counter)
        ]

        nonisolated public static let settings = Bothy.SharedSettings<Self>(in: home)

        nonisolated public func encode(to fields: inout Bothy.FieldEncoder) {
          self.language.encodeField(to: &fields)
          self.visits.encodeField(to: &fields)
        }

        nonisolated public init(from fields: inout Bothy.FieldDecoder) throws(Bothy.BothyError) {
          self.language = try String(fromField: &fields)
          self.visits = try Int(fromField: &fields)
        }
      }

      extension LocaleSettings: nonisolated Bothy.HostedSettingsGroup {
      }
      """, macros: settingsMacro)
  }

  @Test("A setting has the names of its attribute") func names() {
    expectExpansion(
      """
      @SettingsGroup struct Units {
        @Named("metric", wire: "isMetric", aliases: ["si"]) var usesMetric = true
      }
      """,
      """
      struct Units {
        @Named("metric", wire: "isMetric", aliases: ["si"]) var usesMetric = true

        nonisolated init() {
        }

        nonisolated static var groupName: String {
          "Units"
        }

        nonisolated static let fields: [Bothy.FieldSchema] = [
          .field("metric", Bool.self, wire: "isMetric", aliases: ["si"])
        ]

        nonisolated func encode(to fields: inout Bothy.FieldEncoder) {
          self.usesMetric.encodeField(to: &fields)
        }

        nonisolated init(from fields: inout Bothy.FieldDecoder) throws(Bothy.BothyError) {
          self.usesMetric = try Bool(fromField: &fields)
        }
      }

      extension Units: nonisolated Bothy.SettingsGroup {
      }
      """, macros: settingsMacro)
  }

  @Test("A group reports the members that settings can't have") func problems() {
    expectExpansion(
      """
      @SettingsGroup struct Wrong {
        var id = ""
        var name: String
        @Indexed var indexed = 1
      }
      """,
      """
      struct Wrong {
        var id = ""
        var name: String
        @Indexed var indexed = 1
      }
      """,
      diagnostics: [
        DiagnosticSpec(
          message: "A settings group is one row and has no id. Give the property another name.", line: 2,
          column: 7),
        DiagnosticSpec(
          message: "'name' needs a default: before anything is stored, settings are their defaults.", line: 3,
          column: 7),
        DiagnosticSpec(
          message: "@Indexed has no effect on settings, which are one row.", line: 4, column: 3),
      ], macros: settingsMacro)
  }

  /// A declaration, the message that the macro gives for it, and the message's line and column.
  static let refused: [(source: String, message: String, line: Int, column: Int)] = [
    ("@SettingsGroup class Wrong {}", "Only a struct can be a settings group, not a class.", 1, 1),
    (
      "@SettingsGroup struct Wrong<T> {}",
      "A settings group can't be generic: it has one name and one row.", 1, 28
    ),
    (
      "@SettingsGroup struct Bothyness {}",
      "'Bothyness' can't be the name of a settings group. Name it with @SettingsGroup(\"…\").", 1, 23
    ),
    (
      "@SettingsGroup struct Wrong {\n  var picture: Blob?\n}",
      "'Blob?' can't be a setting: settings hold values, no references to records and no files.", 2, 7
    ),
    (
      "@SettingsGroup struct Wrong {\n  var friends: [Reference<Person>] = []\n}",
      "'[Reference<Person>]' can't be a setting: settings hold values, no references to records and no files.",
      2, 7
    ),
  ]

  @Test("A group must be a struct of values with a name", arguments: refused.indices) func refusal(
    _ index: Int
  ) {
    let (source, message, line, column) = Self.refused[index]
    expectExpansion(
      source, String(source.dropFirst("@SettingsGroup ".count)),
      diagnostics: [DiagnosticSpec(message: message, line: line, column: column)], macros: settingsMacro)
  }
}
