import BothySettings
import BothyStore

/// The settings that the driver stores: those of an older blog post, and a pair that is always equal.
struct LocaleSettings: SettingsGroup, Equatable {
  var languageLocale = "en"
  var regionLocale = "en"
  var timeFormat = "12"
  var left = 0
  var right = 0

  static let groupName = "Locale"
  static let fields: [FieldSchema] = [
    .field("languageLocale", String.self), .field("regionLocale", String.self),
    .field("timeFormat", String.self),
    .field("left", Int.self), .field("right", Int.self),
  ]

  init() {}

  init(from fields: inout FieldDecoder) throws(BothyError) {
    languageLocale = try String(fromField: &fields)
    regionLocale = try String(fromField: &fields)
    timeFormat = try String(fromField: &fields)
    left = try Int(fromField: &fields)
    right = try Int(fromField: &fields)
  }

  func encode(to fields: inout FieldEncoder) {
    languageLocale.encodeField(to: &fields)
    regionLocale.encodeField(to: &fields)
    timeFormat.encodeField(to: &fields)
    left.encodeField(to: &fields)
    right.encodeField(to: &fields)
  }

  static func willUpdate(from old: LocaleSettings, to proposed: inout LocaleSettings) throws {
    if !["12", "24"].contains(proposed.timeFormat) { throw Refused() }
  }

  struct Refused: Error, CustomStringConvertible {
    var description: String { "timeFormat is 12 or 24" }
  }

  /// The region follows the language.
  static func didUpdate(
    from old: LocaleSettings, to new: LocaleSettings, in settings: SharedSettings<LocaleSettings>
  ) throws {
    guard old.languageLocale != new.languageLocale else { return }
    try settings.update { $0.regionLocale = new.languageLocale }
  }
}

/// The group in the app's next version: one property renamed, one converted, one removed, one added.
struct LocaleSettings2: SettingsGroup, Equatable {
  var language = "en"
  var hours = 12
  var greeting = "Hello"
  var left = 0
  var right = 0

  static let groupName = "Locale"
  static let version = 2
  static let steps: [SettingsStep] = [
    SettingsStep(to: 2, .rename(from: "languageLocale", to: "language")),
    SettingsStep(to: 2, .rename(from: "timeFormat", to: "hours")),
    SettingsStep(to: 2, .convert(field: "hours") { .int($0 == "24" ? 24 : 12) }),
    SettingsStep(to: 2, .remove(field: "regionLocale")),
    SettingsStep(to: 2, .add(field: "greeting") { $0["language"] == "de" ? "Hallo" : "Hello" }),
  ]
  static let fields: [FieldSchema] = [
    .field("language", String.self), .field("hours", Int.self), .field("greeting", String.self),
    .field("left", Int.self), .field("right", Int.self),
  ]

  init() {}

  init(from fields: inout FieldDecoder) throws(BothyError) {
    language = try String(fromField: &fields)
    hours = try Int(fromField: &fields)
    greeting = try String(fromField: &fields)
    left = try Int(fromField: &fields)
    right = try Int(fromField: &fields)
  }

  func encode(to fields: inout FieldEncoder) {
    language.encodeField(to: &fields)
    hours.encodeField(to: &fields)
    greeting.encodeField(to: &fields)
    left.encodeField(to: &fields)
    right.encodeField(to: &fields)
  }
}
