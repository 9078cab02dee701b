import BothySettings
import BothyStore

/// A group of a usual size, with texts of more than fifteen bytes, which a copy has to retain.
struct ReadGroup: SettingsGroup {
  var languageLocale = "en-GB-u-ca-gregory-nu-latn"
  var regionLocale = "en-GB-u-rg-uszzzz-sd-gbsct"
  var timeFormat = "12"
  var volume = 0.5
  var visits = 0

  static let groupName = "Read"
  static let fields: [FieldSchema] = [
    .field("languageLocale", String.self), .field("regionLocale", String.self),
    .field("timeFormat", String.self), .field("volume", Double.self), .field("visits", Int.self),
  ]

  init() {}

  init(from fields: inout FieldDecoder) throws(BothyError) {
    languageLocale = try String(fromField: &fields)
    regionLocale = try String(fromField: &fields)
    timeFormat = try String(fromField: &fields)
    volume = try Double(fromField: &fields)
    visits = try Int(fromField: &fields)
  }

  func encode(to fields: inout FieldEncoder) {
    languageLocale.encodeField(to: &fields)
    regionLocale.encodeField(to: &fields)
    timeFormat.encodeField(to: &fields)
    volume.encodeField(to: &fields)
    visits.encodeField(to: &fields)
  }
}
