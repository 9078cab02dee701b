/// Makes a struct a group of settings: one value with defaults, stored in one row. Every process that uses the same
/// home shares it.
///
/// ```swift
/// enum AppSettings {
///   static let home = SettingsContainer(appGroup: "group.org.example.app")
/// }
///
/// @SettingsGroup(in: AppSettings.home) struct LocaleSettings {
///   var languageLocale = "en"
///   var timeFormat = "12"
/// }
///
/// let language = LocaleSettings.current.languageLocale
/// try LocaleSettings.update { $0.timeFormat = "24" }
/// for await change in LocaleSettings.changes where change.changed(\.timeFormat) {
///   show(change.new.timeFormat)
/// }
/// ```
///
/// Every stored property is a setting and has a default. Write `willUpdate` to check changes before they are stored, and
/// `didUpdate` to act on them afterwards (see `SettingsGroup`).
///
/// **Generated members**: `init()`, `groupName`, `fields`, `encode(to:)` and `init(from:)`. `version` and `steps` are
/// generated if they are given. With a home also `static let settings`, `current`, `update`, `republish` and `changes`.
/// Without `in:` create `SharedSettings<LocaleSettings>(in: home)` yourself.
///
/// **Types of properties**: those of the fields of an `Entity`, except references and blobs. ``Named(_:wire:aliases:)``
/// gives a property another name in the file, and in a synced group on the wire. ``NotStored()`` excludes it, so that it
/// has its initial value whenever the group is read. ``Merge(_:)`` sets the merge rule of a synced group.
///
/// - Parameters:
///   - name: The group's name in its home. Defaults to the struct's name.
///   - version: The version of the group. Increase it when `steps` change stored values.
///   - steps: The changes from older versions to this one.
@attached(
  member, names: named(init), named(groupName), named(version), named(steps), named(fields), named(encode))
@attached(extension, conformances: SettingsGroup)
public macro SettingsGroup(_ name: String? = nil, version: Int = 1, steps: [SettingsStep] = []) =
  #externalMacro(module: "BothyMacros", type: "SettingsGroupMacro")

/// Makes a struct a group of settings in the given home: `@SettingsGroup(in: home)`.
///
/// The first read of `current` opens the home, and later ones read memory. `update` is durable when it returns. If the
/// home can't be opened, `update` throws and readers get the defaults.
///
/// - Parameters:
///   - name: The group's name in its home. Defaults to the struct's name.
///   - home: The home, a stored constant that the whole app shares.
///   - version: The version of the group. Increase it when `steps` change stored values.
///   - steps: The changes from older versions to this one.
@attached(
  member, names: named(init), named(groupName), named(version), named(steps), named(fields), named(settings),
  named(encode))
@attached(extension, conformances: HostedSettingsGroup)
public macro SettingsGroup(
  _ name: String? = nil, in home: SettingsContainer, version: Int = 1, steps: [SettingsStep] = []
) = #externalMacro(module: "BothyMacros", type: "SettingsGroupMacro")
