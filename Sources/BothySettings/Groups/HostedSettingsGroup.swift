/// A group that names its home, so that the type alone is enough: `LocaleSettings.current`.
///
/// `@SettingsGroup(in: home)` writes the conformance; by hand it is
/// `static let settings = SharedSettings<LocaleSettings>(in: home)`.
///
/// ```swift
/// enum AppSettings {
///   static let home = SettingsContainer(appGroup: "group.org.example.app")
/// }
///
/// @SettingsGroup(in: AppSettings.home) struct ReadingSettings {
///   var fontSize = 12
/// }
///
/// show("\(ReadingSettings.current.fontSize) points")
/// try ReadingSettings.update { $0.fontSize += 1 }
/// ```
public protocol HostedSettingsGroup: SettingsGroup {
  /// The group in its home; one for the process, so a stored constant.
  static var settings: SharedSettings<Self> { get }
}

extension HostedSettingsGroup {
  /// See `SharedSettings.current`. The first read may block for the disk, and each later one reads memory.
  @inlinable public static var current: Self { settings.current }

  /// See `SharedSettings.changes`.
  public static var changes: AsyncStream<SettingsChange<Self>> { settings.changes }

  /// See `SharedSettings.update`.
  @discardableResult
  public static func update(_ change: (inout Self) throws -> Void) throws -> Self {
    try settings.update(change)
  }

  /// See `SharedSettings.republish`. Nothing is written unless `willUpdate` adjusts the group.
  public static func republish() throws { try settings.republish() }
}
