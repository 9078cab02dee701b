import BothySettings
import BothyStore
import BothyTestSupport
import Foundation

/// A group as an app writes it by hand.
struct LocaleSettings: SettingsGroup, Equatable {
  var languageLocale = "en"
  var regionLocale = "en"
  var timeFormat = "12"
  var visits = 0

  static let groupName = "Locale"
  static let fields: [FieldSchema] = [
    .field("languageLocale", String.self), .field("regionLocale", String.self),
    .field("timeFormat", String.self), .field("visits", Int.self, merge: .counter),
  ]

  init() {}

  init(from fields: inout FieldDecoder) throws(BothyError) {
    languageLocale = try String(fromField: &fields)
    regionLocale = try String(fromField: &fields)
    timeFormat = try String(fromField: &fields)
    visits = try Int(fromField: &fields)
  }

  func encode(to fields: inout FieldEncoder) {
    languageLocale.encodeField(to: &fields)
    regionLocale.encodeField(to: &fields)
    timeFormat.encodeField(to: &fields)
    visits.encodeField(to: &fields)
  }

  static func willUpdate(from old: LocaleSettings, to proposed: inout LocaleSettings) throws {
    if !["12", "24"].contains(proposed.timeFormat) { throw UnknownTimeFormat() }
  }
}

struct UnknownTimeFormat: Error {}

/// A group that each test declares for itself, as successive versions of an app do.
struct Fields: SettingsGroup {
  static let groupName = "Locale"
  /// The current declaration of the group. Each test that changes it runs in its own task.
  @TaskLocal static var declared = Declaration()

  struct Declaration: Sendable {
    var version = 1
    var steps: [SettingsStep] = []
    var fields: [FieldSchema] = []
  }

  static var version: Int { declared.version }
  static var steps: [SettingsStep] { declared.steps }
  static var fields: [FieldSchema] { declared.fields }

  var contents: [FieldValue]

  init() { contents = Self.fields.map { $0.defaultValue ?? .null } }

  init(from fields: inout FieldDecoder) throws(BothyError) {
    contents = []
    for field in Self.fields {
      if fields.nextIsNull() {
        fields.skip()
        contents.append(.null)
        continue
      }
      switch field.kind {
      case .int: contents.append(.int(try fields.int()))
      case .bool: contents.append(.bool(try fields.bool()))
      case .double: contents.append(.double(try fields.double()))
      default: contents.append(.text(try fields.text()))
      }
    }
  }

  func encode(to fields: inout FieldEncoder) {
    for value in contents { fields.encode(value) }
  }

  subscript(name: String) -> FieldValue {
    get { Self.fields.firstIndex { $0.name == name }.map { contents[$0] } ?? .null }
    set { if let index = Self.fields.firstIndex(where: { $0.name == name }) { contents[index] = newValue } }
  }
}

/// The lengths that a version of an app knows.
protocol Length: FieldConvertible, Equatable {
  static var metric: Self { get }
}

enum OldLength: String, Length { case metric, imperial }
enum NewLength: String, Length { case metric, imperial, nautical }

/// A group with a length that other versions of the app may not know.
struct Units<Known: Length>: SettingsGroup {
  var length = Known.metric
  var places = 0

  static var groupName: String { "Units" }
  static var fields: [FieldSchema] { [.field("length", Known.self), .field("places", Int.self)] }

  init() {}

  init(from fields: inout FieldDecoder) throws(BothyError) {
    length = try Known(fromField: &fields)
    places = try Int(fromField: &fields)
  }

  func encode(to fields: inout FieldEncoder) {
    length.encodeField(to: &fields)
    places.encodeField(to: &fields)
  }
}

/// A group whose hooks record their calls and arguments.
struct Watched: SettingsGroup, Equatable {
  var value = 0
  var doubled = 0

  static let fields: [FieldSchema] = [.field("value", Int.self), .field("doubled", Int.self)]
  @TaskLocal static var hooks = Hooks()

  init() {}

  init(from fields: inout FieldDecoder) throws(BothyError) {
    value = try Int(fromField: &fields)
    doubled = try Int(fromField: &fields)
  }

  func encode(to fields: inout FieldEncoder) {
    value.encodeField(to: &fields)
    doubled.encodeField(to: &fields)
  }

  static func willUpdate(from old: Watched, to proposed: inout Watched) throws {
    try hooks.pre(old, proposed)
    proposed.value = min(proposed.value, hooks.most)
  }

  static func didUpdate(from old: Watched, to new: Watched, in settings: SharedSettings<Watched>) throws {
    try hooks.post(old, new, settings)
  }

  struct Hooks: Sendable {
    /// The value to which a change is lowered.
    var most = Int.max
    var pre: @Sendable (Watched, Watched) throws -> Void = { _, _ in }
    var post: @Sendable (Watched, Watched, SharedSettings<Watched>) throws -> Void = { _, _, _ in }
  }
}

/// A group that a test can hold up between the read of its values and their use.
struct Paused: SettingsGroup {
  var value = 0

  static let fields: [FieldSchema] = [.field("value", Int.self)]
  @TaskLocal static var pause: @Sendable () -> Void = {}

  init() {}

  init(from fields: inout FieldDecoder) throws(BothyError) {
    Self.pause()
    value = try Int(fromField: &fields)
  }

  func encode(to fields: inout FieldEncoder) { value.encodeField(to: &fields) }
}

extension TemporaryFolder {
  /// Returns another home on the same file, like that of another process.
  func home() -> SettingsContainer { SettingsContainer(at: path + "/settings.bothy") }
}

extension SharedSettings {
  /// Returns the next `count` changes, or all changes until the stream ends.
  static func take(_ count: Int, of changes: AsyncStream<SettingsChange<Group>>) async -> [SettingsChange<
    Group
  >] {
    var taken: [SettingsChange<Group>] = []
    for await change in changes {
      taken.append(change)
      if taken.count == count { break }
    }
    return taken
  }
}
