/// Makes a struct a group of settings: one value with defaults, kept in one row, shared with every process that uses the
/// same home.
///
/// ```swift
/// enum AppSettings {
///   static let home = SettingsHome(appGroup: "group.org.example.app")
/// }
///
/// @SettingsGroup(in: AppSettings.home) struct LocaleSettings {
///   var languageLocale = "en"
///   var timeFormat = "12"
/// }
///
/// let language = LocaleSettings.current.languageLocale
/// try LocaleSettings.commit { $0.timeFormat = "24" }
/// for await change in LocaleSettings.changes where change.changed(\.timeFormat) { … }
/// ```
///
/// Every stored property is a setting and has a default. To look at changes before they are stored, or to follow them
/// up, write `preCommit` and `postCommit` (see `SettingsGroup`).
///
/// **What it writes**: `init()`, `groupName`, `fields`, `encode(to:)` and `init(from:)`; `version` and `steps` where they
/// are given; `static let settings` where a home is, and with it `current`, `commit`, `touch` and `changes`. Without
/// `in:` make `SharedSettings<LocaleSettings>(in: home)` yourself.
///
/// **What a property may be**: what a field of an `Entity` may, but for references and blobs. ``Named(_:wire:aliases:)`` gives it
/// another name in the file, ``NotStored()`` keeps it out (it has its initial value whenever the group is read),
/// ``Merge(_:)`` says how a synced group is merged.
///
/// - Parameters:
///   - name: The group's name in its home; the struct's name if left out.
///   - version: Rises when `steps` have to change what is stored.
///   - steps: What leads from older versions to this one.
@attached(
  member, names: named(init), named(groupName), named(version), named(steps), named(fields), named(encode))
@attached(extension, conformances: SettingsGroup)
public macro SettingsGroup(_ name: String? = nil, version: Int = 1, steps: [SettingsStep] = []) =
  #externalMacro(module: "BothyMacros", type: "SettingsGroupMacro")

/// `@SettingsGroup(in: home)`: a group that names its home.
@attached(
  member, names: named(init), named(groupName), named(version), named(steps), named(fields), named(settings),
  named(encode))
@attached(extension, conformances: HostedSettingsGroup)
public macro SettingsGroup(
  _ name: String? = nil, in home: SettingsHome, version: Int = 1, steps: [SettingsStep] = []
) = #externalMacro(module: "BothyMacros", type: "SettingsGroupMacro")
