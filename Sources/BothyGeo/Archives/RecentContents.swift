import Foundation

/// The contents that were last compared, so that one that comes again and again, such as the sea, isn't read each time.
struct RecentContents<Number: Hashable & Sendable>: Sendable {
  private var contents: [Number: Data] = [:]
  private var bytes = 0

  private static var limit: Int { 4 << 20 }

  /// Returns the content of a number, if it is among the recent ones.
  subscript(number: Number) -> Data? { contents[number] }

  /// Keeps a content. Forgets all earlier ones if they exceed the limit together.
  mutating func keep(_ data: Data, of number: Number) {
    guard contents[number] == nil else { return }
    bytes += data.count
    if bytes > Self.limit {
      contents.removeAll(keepingCapacity: true)
      bytes = data.count
    }
    contents[number] = data
  }
}
