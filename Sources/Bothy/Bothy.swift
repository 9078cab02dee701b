import BothySettings
import BothySync

extension SettingsContainer {
  /// Stores settings beside the records of a synced store.
  ///
  /// A group whose `recordType` is in the store's schema is a record of that type, and is synced. Other groups stay on
  /// this device. Reads nothing. Make one home for a store and keep it.
  ///
  /// ```swift
  /// let settings = SharedSettings<LocaleSettings>(in: SettingsContainer(store))
  /// ```
  public convenience init(_ store: SyncedStore) { self.init(store.store) }
}
