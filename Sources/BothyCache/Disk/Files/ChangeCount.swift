internal import Foundation
internal import Synchronization

/// The number of replacements and removals of entries and identities in a store, which all processes that use it have in memory.
///
/// It is in the file of the store's lock. Each store maps that file, so that a look at the number takes no system call. It
/// is written by one, because a write to mapped memory ends the process if the disk is full. Without the number, as in a
/// folder that can't be written, a store notices no changes of others.
final class ChangeCount: Sendable {
  private static let size = MemoryLayout<UInt64>.size

  private let descriptor: Int32
  /// The address of the mapped file, or 0 without one.
  private let address: UInt
  /// The number after the last change that this store made or was told of.
  private let known = Atomic<UInt64>(0)

  /// Maps an existing file. Call it with the store's lock held.
  init(_ path: String) {
    descriptor = open(path, O_RDWR | O_CLOEXEC)
    address = Self.mapped(descriptor)
    known.store(number, ordering: .releasing)
  }

  deinit {
    if let place = UnsafeMutableRawPointer(bitPattern: address) { munmap(place, Self.size) }
    if descriptor >= 0 { _ = Foundation.close(descriptor) }
  }

  /// Returns the address of the mapped file, or 0. The file gets a number if it has none.
  private static func mapped(_ descriptor: Int32) -> UInt {
    var status = stat()
    guard descriptor >= 0, fstat(descriptor, &status) == 0 else { return 0 }
    var first: UInt64 = 0
    if status.st_size < size, pwrite(descriptor, &first, size, 0) != size { return 0 }
    let place = mmap(nil, size, PROT_READ, MAP_SHARED, descriptor, 0)
    return place == MAP_FAILED ? 0 : UInt(bitPattern: place)
  }

  /// The number now, or 0 without one.
  var number: UInt64 {
    UnsafeRawPointer(bitPattern: address)?.load(as: UInt64.self) ?? 0
  }

  /// The number, if another store has changed it since `note(_:)`, or `nil`.
  var changed: UInt64? {
    let number = number
    return number == known.load(ordering: .acquiring) ? nil : number
  }

  /// Notes that the changes up to a number are known.
  func note(_ number: UInt64) { known.store(number, ordering: .releasing) }

  /// Tells the other stores of a change of this one. Call it with the lock held, after the commit.
  ///
  /// The changes of others that aren't known yet stay so.
  func announce() {
    let before = number
    var after = before &+ 1
    guard address != 0, pwrite(descriptor, &after, Self.size, 0) == Self.size else { return }
    _ = known.compareExchange(expected: before, desired: after, ordering: .acquiringAndReleasing)
  }
}
