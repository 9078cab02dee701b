internal import Foundation
internal import Synchronization

/// The number of replacements and removals of entries and identities in a store.
///
/// It is in the file of the store's lock, which all processes that use the store map. So a look at the number takes no
/// system call. It is written by one, because a write to mapped memory ends the process if the disk is full.
///
/// A file without a number, which a full disk didn't take, isn't mapped: a look beyond the file's end ends the process
/// too. There, and on a file system that maps no files, each look is a system call.
final class ChangeCount: Sendable {
  private static let size = MemoryLayout<UInt64>.size

  private let lock: FolderLock
  /// The address of the mapped file, or 0 without one.
  private let address: UInt
  /// The number after the last change that this store made or was told of.
  private let known = Atomic<UInt64>(0)
  /// The number that this store wrote last, from before its writing, or 0.
  private let own = Atomic<UInt64>(0)

  /// Maps the file of a lock. Call it with the lock held.
  init(_ lock: FolderLock, _ options: DiskCache.Options) {
    self.lock = lock
    address = Self.mapped(lock.descriptor, options)
    known.store(number, ordering: .releasing)
  }

  deinit {
    if let place = UnsafeMutableRawPointer(bitPattern: address) { munmap(place, Self.size) }
  }

  /// Returns the address of the mapped file, or 0. The file gets a number if it has none.
  private static func mapped(_ descriptor: Int32, _ options: DiskCache.Options) -> UInt {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return 0 }
    if status.st_size < size {
      var first: UInt64 = 0
      guard options.isDiskFull?() != true, pwrite(descriptor, &first, size, 0) == size else { return 0 }
    }
    let place = mmap(nil, size, PROT_READ, MAP_SHARED, descriptor, 0)
    return place == MAP_FAILED ? 0 : UInt(bitPattern: place)
  }

  /// The number now, or 0 in a file without one.
  var number: UInt64 {
    if let place = UnsafeRawPointer(bitPattern: address) { return place.load(as: UInt64.self) }
    var found: UInt64 = 0
    return pread(lock.descriptor, &found, Self.size, 0) == Self.size ? found : 0
  }

  /// The number, if another store has changed it since `note(_:)`, or `nil`.
  var changed: UInt64? {
    let number = number
    if number == known.load(ordering: .relaxed) { return nil }
    // This store may write in the meantime. What is read from here on is at least as new as the number.
    atomicMemoryFence(ordering: .acquiring)
    let own = own.load(ordering: .acquiring)
    // Read last: a change of this store's own becomes known just after it is written, and before its next one is.
    let known = known.load(ordering: .acquiring)
    return number <= known || number == own && number == known + 1 ? nil : number
  }

  /// Notes that the changes up to a number are known.
  func note(_ number: UInt64) { known.max(number, ordering: .releasing) }

  /// Tells the other stores of a change of this one. Call it with the lock held, after the commit.
  ///
  /// The changes of others that aren't known yet stay so.
  func announce() {
    let before = number
    var after = before &+ 1
    own.store(after, ordering: .releasing)
    guard pwrite(lock.descriptor, &after, Self.size, 0) == Self.size else {
      return own.store(0, ordering: .releasing)
    }
    _ = known.compareExchange(expected: before, desired: after, ordering: .acquiringAndReleasing)
  }
}
