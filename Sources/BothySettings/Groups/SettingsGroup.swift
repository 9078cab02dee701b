public import BothyStore

/// A struct whose one value is a group of settings: typed properties with defaults, kept in one row.
///
/// `@SettingsGroup` (in `Bothy`) writes the conformance; by hand it is these members:
///
/// ```swift
/// struct LocaleSettings: SettingsGroup {
///   var languageLocale = "en"
///   var timeFormat = "12"
///
///   static let fields: [FieldSchema] = [
///     .field("languageLocale", String.self), .field("timeFormat", String.self),
///   ]
///   init() {}
///   init(from fields: inout FieldDecoder) throws(BothyError) {
///     languageLocale = try String(fromField: &fields)
///     timeFormat = try String(fromField: &fields)
///   }
///   func encode(to fields: inout FieldEncoder) {
///     languageLocale.encodeField(to: &fields)
///     timeFormat.encodeField(to: &fields)
///   }
/// }
/// ```
///
/// `encode` and `init(from:)` must visit the fields in the order of `fields`. Keep groups small and apart: each has a
/// version and a history of its own.
public protocol SettingsGroup: Sendable {
  /// The group's name in its home. Default: the Swift type's name.
  static var groupName: String { get }
  /// Rises when stored values have to be changed by `steps`; a home that holds a higher one is refused. Default: 1.
  static var version: Int { get }
  /// The steps that lead from older versions to this one. Default: an empty array.
  static var steps: [SettingsStep] { get }
  /// The settings with their kinds. Defaults are what `init()` gives; indexes and the like have no meaning here.
  static var fields: [FieldSchema] { get }
  /// The defaults.
  init()
  /// Writes the values, in the order of `fields`.
  func encode(to fields: inout FieldEncoder)
  /// Reads the values, in the order of `fields`. Content that the Swift type of a field doesn't take, such as a case of a
  /// newer app, comes as the default.
  init(from fields: inout FieldDecoder) throws(BothyError)

  /// Checks a change before it is written, inside the transaction. It may adjust `proposed`.
  ///
  /// If it throws, nothing changes and `update` throws the same error. It must not write to the same container. Default:
  /// accepts every change.
  static func willUpdate(from old: Self, to proposed: inout Self) throws
  /// Runs on the thread that committed a change, once the change is durable and before listeners are notified.
  ///
  /// It may update again, in this group or another. Default: does nothing.
  static func didUpdate(from old: Self, to new: Self, in settings: SharedSettings<Self>) throws
}

extension SettingsGroup {
  public static var groupName: String { String(describing: Self.self) }
  public static var version: Int { 1 }
  public static var steps: [SettingsStep] { [] }
  public static func willUpdate(from old: Self, to proposed: inout Self) throws {}
  public static func didUpdate(from old: Self, to new: Self, in settings: SharedSettings<Self>) throws {}
}
